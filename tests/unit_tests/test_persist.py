"""Cuts that are written to the state: what goes, who is told, and that the view is the same."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import ExtendedModelResponse, wrap_model_call
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import create_react_agent
from langgraph.runtime import Runtime
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, Overwrite

from langchain_mentor_reducer import (
    MentorChatReducer,
    MentorChatReducerMiddleware,
    MentorChatReducerNode,
)
from langchain_mentor_reducer.calls import answers_of, calls_of
from langchain_mentor_reducer.persist import StateCut, cut_state
from langchain_mentor_reducer.turns import is_question
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, Script, ScriptedModel, call, calling, guide
from tests.unit_tests.histories import History, budgets, called_at, well_formed

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

THREAD: Any = {"configurable": {"thread_id": "1"}}
SMALL = MentorChatReducer(2, overflow="keep")
Make = Callable[..., Any]


def talk(turns: int) -> list[BaseMessage]:
    """Make a history of short turns, with ids."""
    return [
        message
        for n in range(turns)
        for message in (HumanMessage(f"{n}?", id=f"q{n}"), AIMessage(f"{n}.", id=f"a{n}"))
    ]


GROWN = talk(3)[:5]
"""Two old turns, and a question."""


# --- The update ----------------------------------------------------------------------------------


def cut_of(history: list[BaseMessage]) -> StateCut:
    """Cut a state as `persist` does."""
    return cut_state(SMALL, history, persist=True)


S = SystemMessage("S", id="s")
HINT = HumanMessage("A hint.")
CLEARED = HumanMessage("[cleared]", id="q0")


@pytest.mark.parametrize(
    ("history", "state", "gone"),
    [
        (talk(1), None, []),
        (talk(3), None, ["q0", "a0", "q1", "a1"]),
        ([*talk(2), S], None, ["q0", "a0"]),
        ([HINT, *talk(2)], talk(2), ["q0", "a0"]),
        ([CLEARED, *talk(3)[1:]], talk(3), ["q0", "a0", "q1", "a1"]),
    ],
    ids=["nothing", "in order", "no system message", "what is in the state", "as it stands there"],
)
def test_removal_by_id(history: History, state: History | None, gone: list[str]) -> None:
    """What goes is removed by id and told as the state has it: others may add to it or edit it."""
    cut = cut_state(SMALL, history, state, persist=True)
    assert cut.window == [*(m for m in history if m is S), *[m for m in history if m is not S][-2:]]
    assert cut.leaving == [m for m in state or history if m.id in gone]
    assert cut.update() == [RemoveMessage(id=id_) for id_ in gone]


@pytest.mark.parametrize("ids", [(None, "a0"), ("q1", "a0"), ("x", "x")])
def test_replacement(ids: tuple[str | None, str | None]) -> None:
    """Where an id is missing or stands twice, the list is replaced, with the answer behind it."""
    history = talk(2)
    history[:2] = [m.model_copy(update={"id": i}) for m, i in zip(history, ids, strict=False)]
    update = cut_of(history).update([AIMessage("new")])
    assert update == Overwrite([*history[2:], AIMessage("new")])


def test_copied_question() -> None:
    """A question that loses answers whose call went is written back under its id."""
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "A"}
    late = HumanMessage([answer, {"type": "text", "text": "And now?"}], id="late")
    history: list[BaseMessage] = [
        HumanMessage("Go.", id="q"),
        AIMessage("", tool_calls=[call("look", "a")], id="c"),
        late,
        AIMessage("Well.", id="a"),
    ]
    cut = cut_of(history)
    assert cut.leaving == history[:3]
    update: Any = cut.update()
    assert [type(m) for m in update] == [RemoveMessage, RemoveMessage, HumanMessage]
    merged = _merged(history, update)
    assert merged == cut.window
    assert merged[0].id == "late"
    assert merged[0].content == late.content[1:]
    assert late.content[0] == answer


# --- Persist equals view -------------------------------------------------------------------------


def _late(history: History, moves: list[tuple[int, int]]) -> History:
    """Let some tool results come late, in another turn perhaps."""
    history = list(history)
    for place, far in moves:
        results = [i for i, m in enumerate(history) if isinstance(m, ToolMessage)]
        if results:
            here = results[place % len(results)]
            history.insert(min(len(history), here + far), history.pop(here))
    return history


MOVES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=3)
PROMPT = well_formed(pending=False, with_ids=True)
HISTORIES = st.builds(_late, PROMPT, MOVES)


class Call:
    """One model call, of a thread that is reduced each time and of one that is written back."""

    def __init__(self, history: History, state: History, options: dict[str, Any]) -> None:
        reducer = MentorChatReducer(**options)
        self.view = reducer.reduce(history)
        self.cut = cut_state(reducer, state, persist=True)
        _, self.decision = reducer.decide(state, written=True)
        self.in_part = self.decision.question is not None or (
            self.decision.start > 0
            and not any(is_question(m) for m in state[self.decision.start :][:1])
        )
        self.state = state
        if self.cut.leaving:
            self.state = _merged(state, self.cut.update())


def _merged(state: History, update: Any) -> History:
    return cast("History", add_messages(list[Any](state), update))


def calls(history: History, options: dict[str, Any]) -> list[Call]:
    """Let a thread grow, and look at it wherever the model is called."""
    made: list[Call] = []
    state: History = []
    start = 0
    for end in called_at(history):
        state = _merged(state, history[start:end])
        made.append(Call(history[:end], state, {"overflow": "keep"} | options))
        state, start = made[-1].state, end
    return made


def unpaired(window: History, history: History) -> list[BaseMessage]:
    """Tool results in a window whose call was made before them, and is not there."""
    made: dict[Any, int] = {}
    found: list[BaseMessage] = []
    for message in history:
        if isinstance(message, AIMessage):
            made.update({id_: id(message) for id_ in calls_of(message)})
        elif isinstance(message, ToolMessage) and any(message is m for m in window):
            (answered,) = answers_of(message).values()
            if answered in made and not any(made[answered] == id(m) for m in window):
                found.append(message)
    return found


@given(history=PROMPT, options=budgets(trim_to=True))
def test_persist_equals_view_with_a_low_water_mark(
    history: History, options: dict[str, Any]
) -> None:
    """With `trim_to` and no late result, writing back shows the model what reducing all shows."""
    for made in calls(history, {"trim_to": 0.6} | options):
        event(f"cut: {bool(made.cut.leaving)}")
        assert made.cut.view == made.view
        assert sorted(str(m.id) for m in made.state) == sorted(str(m.id) for m in made.view)


@given(history=HISTORIES, options=budgets())
def test_persist_equals_view_when_strict(history: History, options: dict[str, Any]) -> None:
    """By the strict rule the two are equal until a turn is held in part, or an answer stranded."""
    for made in calls(history, options):
        if made.in_part or made.decision.stranded:
            event("held in part or stranded")
            break
        event(f"cut: {bool(made.cut.leaving)}")
        assert made.cut.view == made.view


@given(history=HISTORIES, options=budgets())
def test_strict_persist_holds_the_promises(history: History, options: dict[str, Any]) -> None:
    """Whatever was cut before, the window is in budget, pairs its answers and asks the question."""
    reducer = MentorChatReducer(**options)
    for made, end in zip(calls(history, options), called_at(history), strict=True):
        window = made.cut.window
        if not made.decision.overflowed:
            assert reducer.reduce(window) == window
        assert unpaired(window, history[:end]) == []
        questions = [m for m in history[:end] if is_question(m)]
        assert questions == [] or questions[-1] in window


# --- In graphs -----------------------------------------------------------------------------------


def react(model: ScriptedModel, tools: list[Any], saver: Any, **options: Any) -> Any:
    """Make an agent that cuts in a hook."""
    node = MentorChatReducerNode(persist=True, **options)
    return create_react_agent(model, tools, pre_model_hook=node, checkpointer=saver)


def modern(model: ScriptedModel, tools: list[Any], saver: Any, **options: Any) -> Any:
    """Make an agent that cuts around the model call."""
    middleware = MentorChatReducerMiddleware(persist=True, **options)
    return create_agent(model, tools, middleware=[middleware], checkpointer=saver)


both = pytest.mark.parametrize("make", [react, modern], ids=["node", "middleware"])
either = pytest.mark.parametrize("sync", [True, False], ids=["sync", "async"])


def run(agent: Any, messages: Sequence[BaseMessage], *, sync: bool = True) -> list[BaseMessage]:
    """Write messages to an agent's thread; return all that are there then."""
    asked = {"messages": messages}
    state = agent.invoke(asked, THREAD) if sync else asyncio.run(agent.ainvoke(asked, THREAD))
    return cast("list[BaseMessage]", state["messages"])


@both
@either
def test_state_is_bounded(make: Make, sync: bool) -> None:  # noqa: FBT001
    """The state stays bounded over a hundred turns on SQLite, and the follow-up is answered."""
    model = ScriptedModel(script=guide)
    questions = [*(f"Remark {n}." for n in range(100 if sync else 10)), FIRST, SECOND]
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        agent = make(model, GUIDE_TOOLS, sqlite if sync else InMemorySaver(), max_messages=6)
        for question in questions:
            messages = run(agent, [HumanMessage(question)], sync=sync)
            assert len(messages) <= 7
    assert messages[-1].text == "333 m"
    assert max(len(window) for window in model.windows) == 5  # a window of short turns is odd


def small(make: Make, script: Script = guide, **options: Any) -> Any:
    """Make an agent with room for one turn."""
    return make(ScriptedModel(script=script), [], InMemorySaver(), max_messages=2, **options)


def held(agent: Any) -> list[str]:
    """Tell what the thread holds."""
    return [m.text for m in agent.get_state(THREAD).values["messages"]]


def streamed(agent: Any, messages: Any) -> list[str]:
    """Tell what a client that streams messages sees."""
    asked = {"messages": messages}
    return [m.text for m, _ in agent.stream(asked, THREAD, stream_mode="messages")]


@both
def test_nothing_is_streamed_but_messages(make: Make) -> None:
    """A client that streams messages sees the answers, and neither marker nor removal."""
    agent = small(make)
    for n in range(4):
        assert streamed(agent, [HumanMessage(f"Remark {n}.")]) == ["Noted."]
    assert len(held(agent)) <= 3


@both
def test_no_update_without_a_cut(make: Make) -> None:
    """Nothing to remove means no update of the history."""
    asked = {"messages": [HumanMessage("Remark.")]}
    updates = [list(u.items()) for u in small(make).stream(asked, THREAD, stream_mode="updates")]
    (_, last), *_ = updates[-1]
    assert [m.text for m in last["messages"]] == ["Noted."]
    assert [list(update) for [(_, update)] in updates[:-1]] in ([], [["llm_input_messages"]])


def test_missing_ids_in_a_graph() -> None:
    """Where ids are missing the middleware replaces the list, the answer stays, nobody sees it."""
    agent = small(modern)
    history = [m.model_copy(update={"id": None}) for m in GROWN]
    assert streamed(agent, Overwrite(history)) == ["Noted."]
    assert held(agent) == ["2?", "Noted."]


def test_failed_model_call_cuts_nothing() -> None:
    """A model call that fails cuts nothing from the state."""

    def fail(_: list[BaseMessage]) -> AIMessage:
        msg = "overloaded"
        raise RuntimeError(msg)

    agent = small(modern, fail)
    with pytest.raises(RuntimeError, match="overloaded"):
        run(agent, talk(3))
    assert len(held(agent)) == 6


def test_a_parallel_node_keeps_its_message() -> None:
    """A cut does not take along what a node of the same superstep writes."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("reduce", MentorChatReducerNode(2, persist=True))
    builder.add_node("note", lambda _: {"messages": [AIMessage("A note.")]})
    builder.add_edge(START, "reduce")
    builder.add_edge(START, "note")
    result = builder.compile().invoke({"messages": talk(2)})
    assert sorted(m.text for m in result["messages"]) == ["1.", "1?", "A note."]


class Counted(AgentState[Any]):
    """A state in which deepagents keeps an index into the messages."""

    _summarization_event: NotRequired[dict[str, int]]


@wrap_model_call
def hide(request: Any, handler: Callable[[Any], Any]) -> Any:
    """Show the model the last message alone."""
    return handler(request.override(messages=request.messages[-1:]))


def test_a_state_that_is_not_all_shown() -> None:
    """Behind middleware that hides a part of the state, or counts in it, cutting it is refused."""

    def answer(*stack: Any, **state: Any) -> str:
        model = ScriptedModel(script=guide)
        agent: Any = create_agent(model, [], middleware=stack, state_schema=Counted)
        return str(agent.invoke({"messages": talk(2)[:3], **state})["messages"][-1].text)

    cutting, counted = MentorChatReducerMiddleware(2, persist=True), {"cutoff_index": 2}
    for stack, state in (([hide, cutting], {}), ([cutting], {"_summarization_event": counted})):
        with pytest.raises(ValueError, match="persist=False"):
            answer(*stack, **state)
    assert answer(cutting, hide) == "Noted."
    assert answer(MentorChatReducerMiddleware(2), _summarization_event=counted) == "Noted."


def test_another_command_is_kept() -> None:
    """The command of another middleware is applied beside the cut."""

    @wrap_model_call
    def cut_too(request: Any, handler: Callable[[Any], Any]) -> Any:
        note: Command[Any] = Command(update={"messages": [AIMessage("A note.")]})
        return ExtendedModelResponse(handler(request), note)

    ours = MentorChatReducerMiddleware(2, persist=True)
    agent = create_agent(ScriptedModel(script=guide), [], middleware=[ours, cut_too])
    assert [m.text for m in run(agent, GROWN)] == ["2?", "Noted.", "A note."]


# --- on_drop -------------------------------------------------------------------------------------

OLD = ["q0", "a0", "q1", "a1"]


@both
@pytest.mark.parametrize("form", ["sync", "in a thread", "async"])
def test_on_drop(make: Make, form: str) -> None:
    """`on_drop` is told what is about to go, before it goes, with the graph's runtime."""
    told: list[tuple[list[str | None], object]] = []

    def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        told.append(([m.id for m in dropped], runtime.store))

    async def aon_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        await asyncio.sleep(0)
        on_drop(dropped, runtime)

    agent = small(make, on_drop=aon_drop if form == "async" else on_drop)
    agent.store = InMemoryStore()
    run(agent, GROWN, sync=form == "sync")
    assert told == [(OLD, agent.store)]


@both
def test_async_on_drop_needs_async(make: Make) -> None:
    """An async `on_drop` under `invoke` is a `TypeError`, and nothing goes."""

    async def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        """Never run."""

    agent = small(make, on_drop=on_drop)
    with pytest.raises(TypeError, match="on_drop is async"):
        run(agent, GROWN)
    assert len(held(agent)) == 5


class Later:
    """An awaitable that is no coroutine."""

    def __await__(self) -> Any:
        """Wait for nothing."""
        yield from ()


def test_on_drop_that_returns_an_awaitable() -> None:
    """Whatever has to be awaited is refused under `invoke`."""
    node = MentorChatReducerNode(2, persist=True, on_drop=lambda *_: Later())
    with pytest.raises(TypeError, match="on_drop is async"):
        node.invoke({"messages": talk(2)})
    assert asyncio.run(node.ainvoke({"messages": talk(2)}))["llm_input_messages"] == talk(2)[2:]


@both
@either
def test_on_drop_that_raises(make: Make, sync: bool) -> None:  # noqa: FBT001
    """If `on_drop` raises, nothing is removed; the next run delivers the same again."""
    told: list[list[str | None]] = []
    asked: list[History] = []

    def on_drop(dropped: list[BaseMessage], _: Runtime[Any]) -> None:
        told.append([m.id for m in dropped])
        if len(told) == 1:
            msg = "archive is down"
            raise OSError(msg)

    def script(window: list[BaseMessage]) -> AIMessage:
        asked.append(window)
        return guide(window)

    agent = small(make, script, on_drop=on_drop)
    with pytest.raises(OSError, match="archive is down"):
        run(agent, GROWN, sync=sync)
    assert len(held(agent)) == 5
    assert asked == []
    run(agent, [HumanMessage("Again?")], sync=sync)
    assert told == [OLD, OLD]
    assert held(agent) == ["2?", "Again?", "Noted."]


def test_replay_delivers_again() -> None:
    """Time travel delivers again: an archive by message id holds each message once."""
    told: list[str | None] = []
    agent = small(modern, on_drop=lambda dropped, _: told.extend(m.id for m in dropped))
    run(agent, GROWN)
    before = next(s for s in agent.get_state_history(THREAD) if s.next == ("model",))
    agent.invoke(None, before.config)
    assert told == [*OLD, *OLD]


def test_nothing_is_lost() -> None:
    """The archive and the state together hold every message of a long thread."""
    archive: dict[str | None, BaseMessage] = {}
    agent = modern(
        ScriptedModel(script=guide),
        GUIDE_TOOLS,
        InMemorySaver(),
        max_messages=6,
        on_drop=lambda dropped, _: archive.update({m.id: m for m in dropped}),
    )
    plain = create_agent(ScriptedModel(script=guide), GUIDE_TOOLS, checkpointer=InMemorySaver())
    for question in [FIRST, SECOND, "Remark."] * 2:
        run(agent, [HumanMessage(question)])
        everything = run(plain, [HumanMessage(question)])
    texts = [*(m.text for m in archive.values()), *held(agent)]
    assert sorted(texts) == sorted(m.text for m in everything)


def test_archive_in_a_store() -> None:
    """Old turns go to a store by message id, and a tool finds one there again."""

    def archive(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        assert runtime.store is not None
        for message in dropped:
            runtime.store.put(("archive",), str(message.id), {"text": message.text})

    @tool
    def recall(word: str, runtime: ToolRuntime) -> str:
        """Find what was said before."""
        assert runtime.store is not None
        found = runtime.store.search(("archive",))
        return "; ".join(i.value["text"] for i in found if word in i.value["text"])

    def script(window: list[BaseMessage]) -> AIMessage:
        last = window[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(f"You said: {last.text}")
        if last.text == "What was my color?":
            return calling(call("recall", "r", word="color"))
        return AIMessage("Noted.")

    agent = modern(
        ScriptedModel(script=script), [recall], InMemorySaver(), max_messages=4, on_drop=archive
    )
    agent.store = InMemoryStore()
    for text in ["My color is green.", "One.", "Two.", "Three.", "What was my color?"]:
        messages = run(agent, [HumanMessage(text)])
    assert messages[-1].text == "You said: My color is green."
