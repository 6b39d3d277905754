"""The mutants of a module: each is its source with one small change.

Changed are comparisons, boolean and arithmetic operators, constants, conditions, bounds of
slices, `min` and `max`, returned values, and statements, which are dropped. Left alone are
annotations, docstrings, f-strings and prose, which is any string with a space in it.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from typing import Any

OPERATORS: dict[type[ast.AST], tuple[type[ast.AST], ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.And: (ast.Or,),
    ast.Or: (ast.And,),
    ast.Add: (ast.Sub,),
    ast.Sub: (ast.Add,),
    ast.Mult: (ast.FloorDiv,),
    ast.BitOr: (ast.BitAnd,),
}
SWAPPED = {"min": "max", "max": "min", "any": "all", "all": "any"}
DROPPED = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Raise, ast.Continue, ast.Break)
LEFT_ALONE = {"annotation", "returns", "decorator_list", "type_params"}


def mutants_of(module: str, tree: ast.Module) -> Iterator[str]:
    """Make every mutant of a module, one after the other.

    Each is the tree itself, changed for as long as its name is out: the function, the statement
    as it was, and as it is now.
    """
    seen: Counter[str] = Counter()
    for place, statement, node, field, index in _places(tree, module, tree):
        slot = getattr(node, field)
        before = slot if index is None else slot[index]
        was = _headline(statement)
        for after in _changes(before, field, in_block=place != module):
            _put(node, field, index, after)
            now = _headline(after if after and before is statement else statement)
            name = f"{place}: {was} => {now}"
            seen[name] += 1
            yield f"{name} ({seen[name]})" if seen[name] > 1 else name
            _put(node, field, index, before)


def _places(
    node: ast.AST, place: str, statement: ast.AST
) -> Iterator[tuple[str, ast.AST, ast.AST, str, int | None]]:
    """Go through what a node holds, with the function and the statement that it stands in."""
    for field, value in ast.iter_fields(node):
        if field in LEFT_ALONE or isinstance(node, ast.JoinedStr) or _is_type(node):
            continue
        for index, child in enumerate(value if isinstance(value, list) else [value]):
            if not isinstance(child, ast.AST):
                continue
            inner = child if isinstance(child, ast.stmt) else statement
            yield place, inner, node, field, index if isinstance(value, list) else None
            name = getattr(child, "name", None) if isinstance(child, ast.stmt) else None
            yield from _places(child, f"{place}.{name}" if name else place, inner)


def _is_type(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Subscript)
        and isinstance(node.value, ast.Name)
        and node.value.id in {"Callable", "Literal"}
    )


def _changes(node: ast.AST, field: str, *, in_block: bool) -> Iterator[ast.AST | None]:
    """Give what may stand in the place of a node; None takes it out."""
    for operator in OPERATORS.get(type(node), ()):
        yield operator()
    if field in {"test", "ifs"}:
        yield ast.Constant(value=True)
        yield ast.Constant(value=False)
    yield from _other_values(node)
    if field in {"lower", "upper"}:
        yield None
    if in_block and isinstance(node, DROPPED) and not _is_docstring(node):
        yield ast.Pass()


def _other_values(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.Constant(value=bool() as value):
            yield ast.Constant(value=not value)
        case ast.Constant(value=int() | float() as value):
            yield ast.Constant(value=value + 1)
            yield ast.Constant(value=value - 1)
        case ast.Constant(value=str() as value) if " " not in value:
            yield ast.Constant(value=value + "?")
        case ast.BoolOp(values=values):
            for left_out in range(len(values)):
                rest = values[:left_out] + values[left_out + 1 :]
                yield ast.BoolOp(node.op, rest) if len(rest) > 1 else rest[0]
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield node.operand
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            yield ast.Call(ast.Name(SWAPPED[name], ast.Load()), node.args, node.keywords)
        case ast.Return(value=ast.expr() as value) if ast.unparse(value) != "None":
            yield ast.Return(None)


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _put(node: ast.AST, field: str, index: int | None, value: Any) -> None:
    if index is None:
        setattr(node, field, value)
    else:
        getattr(node, field)[index] = value


def _headline(node: ast.AST) -> str:
    return ast.unparse(node).splitlines()[0]
