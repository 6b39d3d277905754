"""`mend=True`: what is reduced comes out sound, whatever broke it, and within the budget."""

import copy
from typing import Annotated, Any, TypedDict

import pytest
from hypothesis import assume, given
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from pydantic import ValidationError

from langchain_mentor_reducer import (
    MentorChatReducer,
    MentorChatReducerMiddleware,
    MentorChatReducerNode,
    bounded_messages,
    reduce_messages,
)
from langchain_mentor_reducer.mend import NO_RESULT, mend
from tests.refusals import refusal
from tests.scripted import ScriptedModel, calling
from tests.scripted import call as tool_call
from tests.unit_tests.corners import Unread, ask, call, letters_of, result, say, system
from tests.unit_tests.histories import any_history, broken, budgets, well_formed
from tests.unit_tests.test_trim_to import behind_system, fits

History = list[BaseMessage]
Options = dict[str, Any]
THREAD: Any = {"configurable": {"thread_id": "1"}}
KILLED: History = [ask("One?"), say(), ask("Two?"), call("a", "b"), result("b")]


@given(broken(), budgets(tokens=letters_of, trim_to=True))
def test_any_history_comes_out_sound(history: History, options: Options) -> None:
    """Nothing is left to mend, and a second time changes nothing."""
    before = copy.deepcopy(history)
    reduced = reduce_messages(history, **options, mend=True)
    assert history == before
    assert mend(reduced, answer_last=True) is None
    assert reduce_messages(reduced, **options, mend=True) == reduced


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_any_history_comes_out_within_budget(history: History, options: Options) -> None:
    """An error result that was put in counts like any message."""
    rest = behind_system(reduced := reduce_messages(history, **options, mend=True))
    assert fits(reduced, options) or len(rest) <= 1


@given(well_formed(pending=False), budgets(tokens=letters_of, trim_to=True))
def test_sound_history_is_reduced_as_without(history: History, options: Options) -> None:
    """A sound history gives the very messages that it gives without."""
    assume(mend(history) is None)
    plain = reduce_messages(history, **options)
    mended = reduce_messages(history, **options, mend=True)
    assert [id(message) for message in mended] == [id(message) for message in plain]


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_account_agrees(history: History, options: Options) -> None:
    """`explain` keeps what is sent, and says of each message that changed what was mended."""
    reducer = MentorChatReducer(**options, mend=True)
    reduction = reducer.explain(history)
    assert reduction.kept == reducer.reduce(history)
    led = sum(not verdict.turn for verdict in reduction.verdicts if verdict.left)
    assert reduction.after.messages == len(reduction.kept) - led
    assert [v.message for v in reduction.verdicts if not v.added] == history
    for verdict in reduction.verdicts:
        assert verdict.left is verdict.message or verdict.why


def test_added_result_that_does_not_fit() -> None:
    """Where the error results go over the budget, what is kept is cut again."""
    history = [ask("old"), say(), ask("new"), call("a")]
    assert reduce_messages(history, max_messages=4) == history
    kept = reduce_messages(history, max_messages=4, mend=True)
    assert kept[:2] == history[2:]
    assert [message.text for message in kept[2:]] == [NO_RESULT]


def test_account_names_what_was_mended() -> None:
    """The text of a reduction and its drawing name the repair and what was put in."""
    reduction = MentorChatReducer(9, mend=True).explain(KILLED)
    told = {verdict.index: verdict.repair for verdict in reduction.verdicts if not verdict.added}
    assert told[3] == "a call that has no result"
    (added,) = [verdict for verdict in reduction.verdicts if verdict.added]
    assert added.message.text == NO_RESULT
    for shown in (str(reduction), reduction._repr_html_()):
        assert added.why in shown
    assert reduction.before.messages == 5
    assert reduction.after.messages == 6


def test_cost_does_not_grow_with_what_is_dropped() -> None:
    """What is broken before the window is not looked at."""
    history = [system(), *[Unread.model_construct(content="")] * 1000, *KILLED[2:]]
    assert len(reduce_messages(history, max_messages=4, mend=True)) == 5


def test_wrong_option() -> None:
    """It is on or off, and nothing between."""
    with pytest.raises(ValidationError, match="mend"):
        MentorChatReducer(9, mend="yes")  # type: ignore[arg-type]


# --- In graphs -----------------------------------------------------------------------------------


def answer(window: History) -> AIMessage:
    """Refuse what a provider would refuse, else say what came of the last calls."""
    assert refusal(window) is None
    return AIMessage(f"Seen {sum(isinstance(m, ToolMessage) for m in window)}.")


@pytest.mark.parametrize("persist", [False, True])
def test_killed_thread_in_an_agent(*, persist: bool) -> None:
    """The model sees a sound thread, and nothing is put into the state."""
    model = ScriptedModel(script=answer)
    middleware = MentorChatReducerMiddleware(9, mend=True, persist=persist)
    agent = create_agent(model, [], middleware=[middleware], checkpointer=InMemorySaver())
    agent.update_state(THREAD, {"messages": KILLED})
    state = agent.invoke({"messages": [HumanMessage("Three?")]}, THREAD)["messages"]
    assert state[-1].text == "Seen 2."
    assert [m.text for m in state if isinstance(m, ToolMessage)] == [KILLED[-1].text]
    late = ToolMessage("Late.", tool_call_id="a")
    agent.update_state(THREAD, {"messages": [late]})
    agent.invoke({"messages": [HumanMessage("Four?")]}, THREAD)
    assert [m.text for m in model.windows[-1] if isinstance(m, ToolMessage)] == [
        "Late.",
        KILLED[-1].text,
    ]


def test_node_shows_the_model_what_is_mended() -> None:
    """The window is mended, and with `persist` only removals are written."""
    node = MentorChatReducerNode(9, mend=True)
    window = node.invoke({"messages": KILLED})["llm_input_messages"]
    assert mend(window, answer_last=True) is None


def test_channel_waits_for_what_is_open() -> None:
    """A channel answers a call once the thread has gone on, and a late result takes its place."""

    class State(TypedDict):
        messages: Annotated[list[AnyMessage], bounded_messages(20, mend=True)]

    builder = StateGraph(State)
    builder.add_node("note", lambda _: {"messages": []})
    builder.add_edge(START, "note")
    graph = builder.compile(checkpointer=InMemorySaver())

    def write(*messages: BaseMessage) -> History:
        state: Any = {"messages": list(messages)}
        written: History = graph.invoke(state, THREAD)["messages"]
        return written

    calls = calling(tool_call("look", "a"), tool_call("look", "b"))
    assert len(write(HumanMessage("Both?"), calls, ToolMessage("B", tool_call_id="b"))) == 3
    gone_on = write(HumanMessage("Well?"))
    assert {m.text for m in gone_on if isinstance(m, ToolMessage)} == {NO_RESULT, "B"}
    late = write(ToolMessage("A", tool_call_id="a"))
    assert {m.text for m in late if isinstance(m, ToolMessage)} == {"A", "B"}
    assert late[-1].text == "Well?"
