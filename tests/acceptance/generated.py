"""Hypothesis strategies for histories, as shapes: they shrink to something that can be read aloud.

Most are well formed. The rest have one or two things wrong that real histories have too: a
validator that overlooks such a thing accepts the input, and then has to accept the output.
"""

from hypothesis import strategies as st

from tests.acceptance import shapes
from tests.acceptance.corpus import History, with_ids
from tests.unit_tests.histories import drawn


@st.composite
def steps(draw: st.DrawFn, ids: st.SearchStrategy[int]) -> list[str]:
    """A message that calls, and the results in any order."""
    calls = draw(st.lists(ids, min_size=1, max_size=3, unique=True))
    speaks = draw(st.sampled_from(["0", "0", "20"]))
    results = [f"T{draw(st.integers(1, 60))}<{n}" for n in draw(st.permutations(calls))]
    return [f"A{speaks}>{','.join(map(str, calls))}", *results]


@st.composite
def turns(draw: st.DrawFn, ids: st.SearchStrategy[int]) -> list[str]:
    """A question, the steps that follow it, mostly an answer."""
    question = f"U{draw(st.integers(1, 60))}"
    followed = [step for part in draw(st.lists(steps(ids), max_size=3)) for step in part]
    answer = draw(st.sampled_from([["A30"], ["A5"], []]))
    return [question, *followed, *answer]


@st.composite
def well_formed(draw: st.DrawFn) -> str:
    """Nothing is wrong with this one: every id is used once, and every call answered."""
    fresh = iter(range(1, 10_000))
    ids = st.builds(lambda: next(fresh))
    parts = [
        draw(st.sampled_from([["S100"], []])),
        draw(st.sampled_from([[], [], [], ["A12"]])),
        *draw(st.lists(turns(ids), min_size=1, max_size=6)),
    ]
    return " ".join(step for part in parts for step in part)


@st.composite
def flawed(draw: st.DrawFn) -> str:
    """Ids come again, and a step or two is lost, doubled or in the wrong place."""
    parts = draw(st.lists(turns(st.integers(1, 6)), min_size=1, max_size=6))
    system = draw(st.sampled_from([["S100"], []]))
    history = [*system, *(step for part in parts for step in part)]
    for _ in range(draw(st.integers(0, 2))):
        place = draw(st.integers(0, len(history) - 1))
        match draw(st.sampled_from(["lost", "doubled", "moved", "system"])):
            case "lost":
                del history[place]
            case "doubled":
                history.insert(place, history[place])
            case "moved":
                history.insert(draw(st.integers(0, len(history) - 1)), history.pop(place))
            case _:
                history[place:place] = draw(st.sampled_from([["S20"], ["S20", "S20"]]))
        if not history:
            break
    return " ".join(history)


HISTORIES = st.one_of(well_formed(), well_formed(), flawed())


def histories(count: int) -> list[History]:
    """So many generated histories, the same ones on every run."""
    return [with_ids(shapes.messages(shape)) for shape in drawn(HISTORIES, count)]
