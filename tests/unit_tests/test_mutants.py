"""The mutants that the tests are tried on."""

import ast
from textwrap import dedent

from tests.mutants.mutants import mutants_of

SOURCE = dedent('''\
    LIMIT = 3

    def first(numbers: list[int], role: str = "any") -> int | None:
        """Prose is left alone."""
        if numbers and numbers[0] < LIMIT:
            numbers[1:] = []
            return min(numbers)
        raise ValueError("None is small.")
''')


def default(role: str) -> str:
    """Write the first line of the function with a default."""
    return f"def first(numbers: list[int], role: str={role!r}) -> int | None:"


def test_mutants_by_name() -> None:
    """Each is one change, named by what it was and is; prose and annotations are left alone."""
    condition = "m.first: if numbers and numbers[0] < LIMIT: =>"
    assert list(mutants_of("m", ast.parse(SOURCE))) == [
        "m: LIMIT = 3 => LIMIT = 4",
        "m: LIMIT = 3 => LIMIT = 2",
        f"m.first: {default('any')} => {default('any?')}",
        f"{condition} if True:",
        f"{condition} if False:",
        f"{condition} if numbers[0] < LIMIT:",
        f"{condition} if numbers:",
        f"{condition} if numbers or numbers[0] < LIMIT:",
        f"{condition} if numbers and numbers[1] < LIMIT:",
        f"{condition} if numbers and numbers[-1] < LIMIT:",
        f"{condition} if numbers and numbers[0] <= LIMIT:",
        f"{condition} if numbers and numbers[0] >= LIMIT:",
        "m.first: numbers[1:] = [] => pass",
        "m.first: numbers[1:] = [] => numbers[2:] = []",
        "m.first: numbers[1:] = [] => numbers[0:] = []",
        "m.first: numbers[1:] = [] => numbers[:] = []",
        "m.first: return min(numbers) => return",
        "m.first: return min(numbers) => return max(numbers)",
        "m.first: raise ValueError('None is small.') => pass",
    ]


def test_a_mutant_is_gone_after_its_turn() -> None:
    """The tree is the mutant while its name is out, and at the end as it was."""
    tree = ast.parse(SOURCE)
    was = ast.unparse(tree)
    changed = [ast.unparse(tree) for _ in mutants_of("m", tree)]
    assert was not in changed
    assert len(set(changed)) == len(changed)
    assert ast.unparse(tree) == was
