"""Cuts that are written to the state: what goes, who is told, and that the view is the same."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import (
    ExtendedModelResponse,
    ModelRequest,
    ModelResponse,
    wrap_model_call,
)
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages
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
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, ScriptedModel, call, calling, guide
from tests.unit_tests.histories import History, budgets, called_at, well_formed

pytestmark = pytest.mark.filterwarnings("ignore:create_react_agent has been moved")

THREAD: Any = {"configurable": {"thread_id": "1"}}
SMALL = MentorChatReducer(2, overflow="keep")


def talk(turns: int) -> list[BaseMessage]:
    """Make a history of short turns, with ids."""
    return [
        message
        for n in range(turns)
        for message in (HumanMessage(f"{n}?", id=f"q{n}"), AIMessage(f"{n}.", id=f"a{n}"))
    ]


# --- The update ----------------------------------------------------------------------------------


def cut_of(history: list[BaseMessage], reducer: MentorChatReducer = SMALL) -> StateCut:
    """Cut a state as `persist` does."""
    return cut_state(reducer, history, persist=True)


def test_removal_by_id() -> None:
    """What goes is removed by id, in its order; when everything fits, nothing leaves."""
    assert cut_of(talk(1)).leaving == []
    cut = cut_of(talk(3))
    assert cut.window == talk(3)[4:]
    assert cut.leaving == talk(3)[:4]
    assert cut.update() == [RemoveMessage(id=i) for i in ("q0", "a0", "q1", "a1")]


def test_system_message_stays() -> None:
    """The system message stays where it is, wherever that is."""
    history = [*talk(2), SystemMessage("S", id="s")]
    cut = cut_of(history)
    assert cut.update() == [RemoveMessage(id="q0"), RemoveMessage(id="a0")]
    assert cut.window == [history[-1], *history[2:4]]


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
    update = cast("list[BaseMessage]", cut.update())
    assert [type(m) for m in update] == [RemoveMessage, RemoveMessage, HumanMessage]
    merged = cast("list[BaseMessage]", add_messages(list[Any](history), list[Any](update)))
    assert merged == cut.window
    assert merged[0].id == "late"
    assert merged[0].content == late.content[1:]
    assert late.content[0] == answer


def test_messages_beside_the_state() -> None:
    """What another middleware added to the request is cut from the view, not from the state."""
    history, hint = talk(2), HumanMessage("A hint.")
    cut = cut_state(SMALL, [hint, *history], history, persist=True)
    assert cut.leaving == history[:2]
    assert cut.update() == [RemoveMessage(id="q0"), RemoveMessage(id="a0")]


def test_what_leaves_is_told_as_the_state_has_it() -> None:
    """What another middleware edited for the model is archived as it stands in the state."""
    history = talk(3)
    edited = [history[0].model_copy(update={"content": "[cleared]"}), *history[1:]]
    cut = cut_state(SMALL, edited, history, persist=True)
    assert cut.leaving == history[:4]


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
            self.state = _merged(state, cast("list[BaseMessage]", self.cut.update()))


def _merged(state: History, update: Sequence[BaseMessage]) -> History:
    return cast("list[BaseMessage]", add_messages(list[Any](state), list[Any](update)))


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


@both
@pytest.mark.parametrize("sync", [True, False])
def test_state_is_bounded(make: Callable[..., Any], sync: bool) -> None:  # noqa: FBT001
    """The state stays bounded over a hundred turns on SQLite, and the follow-up is answered."""
    model = ScriptedModel(script=guide)
    questions = [*(f"Remark {n}." for n in range(100 if sync else 10)), FIRST, SECOND]
    saver: Any
    with SqliteSaver.from_conn_string(":memory:") as sqlite:
        saver = sqlite if sync else InMemorySaver()
        agent = make(model, GUIDE_TOOLS, saver, max_messages=6)
        for question in questions:
            asked = {"messages": [HumanMessage(question)]}
            if sync:
                state = agent.invoke(asked, THREAD)
            else:
                state = asyncio.run(agent.ainvoke(asked, THREAD))
            assert len(state["messages"]) <= 7
    assert state["messages"][-1].text == "333 m"
    assert max(len(window) for window in model.windows) == 5  # a window of short turns is odd


@both
def test_nothing_is_streamed_but_messages(make: Callable[..., Any]) -> None:
    """A client that streams messages sees the answers, and neither marker nor removal."""
    agent = make(ScriptedModel(script=guide), GUIDE_TOOLS, InMemorySaver(), max_messages=2)
    for n in range(4):
        asked = {"messages": [HumanMessage(f"Remark {n}.")]}
        seen = [m.text for m, _ in agent.stream(asked, THREAD, stream_mode="messages")]
        assert seen == ["Noted."]
    assert len(agent.get_state(THREAD).values["messages"]) <= 3


@both
def test_no_update_without_a_cut(make: Callable[..., Any]) -> None:
    """Nothing to remove means no update of the history."""
    agent = make(ScriptedModel(script=guide), [], None, max_messages=2)
    asked = {"messages": [HumanMessage("Remark.")]}
    updates = [list(u.items()) for u in agent.stream(asked, stream_mode="updates")]
    (_, last), *_ = updates[-1]
    assert [m.text for m in last["messages"]] == ["Noted."]
    assert [list(update) for [(_, update)] in updates[:-1]] in ([], [["llm_input_messages"]])


def test_missing_ids_in_a_graph() -> None:
    """Where ids are missing the middleware replaces the list, the answer stays, nobody sees it."""
    agent = modern(ScriptedModel(script=guide), [], InMemorySaver(), max_messages=2)
    history = [m.model_copy(update={"id": None}) for m in talk(3)[:5]]
    asked = {"messages": Overwrite(history)}
    seen = [m.text for m, _ in agent.stream(asked, THREAD, stream_mode="messages")]
    assert seen == ["Noted."]
    assert [m.text for m in agent.get_state(THREAD).values["messages"]] == ["2?", "Noted."]


def test_failed_model_call_cuts_nothing() -> None:
    """A model call that fails cuts nothing from the state."""

    def fail(_: list[BaseMessage]) -> AIMessage:
        msg = "overloaded"
        raise RuntimeError(msg)

    agent = modern(ScriptedModel(script=fail), [], InMemorySaver(), max_messages=2)
    with pytest.raises(RuntimeError, match="overloaded"):
        agent.invoke({"messages": talk(3)}, THREAD)
    assert len(agent.get_state(THREAD).values["messages"]) == 6


def test_a_parallel_node_keeps_its_message() -> None:
    """A cut does not take along what a node of the same superstep writes."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("reduce", MentorChatReducerNode(2, persist=True))
    builder.add_node("note", lambda _: {"messages": [AIMessage("A note.")]})
    builder.add_edge(START, "reduce")
    builder.add_edge(START, "note")
    result = builder.compile().invoke({"messages": talk(2)})
    assert sorted(m.text for m in result["messages"]) == ["1.", "1?", "A note."]


def test_a_state_that_is_shown_in_part() -> None:
    """Behind middleware that hides a part of the state, cutting the state is refused."""

    @wrap_model_call
    def hide(request: Any, handler: Callable[[Any], Any]) -> Any:
        return handler(request.override(messages=request.messages[-1:]))

    ours = MentorChatReducerMiddleware(2, persist=True)
    agent = create_agent(ScriptedModel(script=guide), [], middleware=[hide, ours])
    asked: Any = {"messages": talk(2)[:3]}
    with pytest.raises(ValueError, match="persist=False"):
        agent.invoke(asked)
    first = create_agent(ScriptedModel(script=guide), [], middleware=[ours, hide])
    assert first.invoke(asked)["messages"][-1].text == "Noted."


def test_a_state_that_another_counts_in() -> None:
    """Where deepagents keeps an index into the messages, cutting the state is refused."""
    history = cast("list[AnyMessage]", talk(2))
    state: Any = {"messages": history, "_summarization_event": {"cutoff_index": 2}}
    request: ModelRequest[Any] = ModelRequest(
        model=ScriptedModel(script=guide), messages=history, state=state, runtime=Runtime()
    )

    def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        return ModelResponse([AIMessage(str(len(request.messages)))])

    with pytest.raises(ValueError, match="persist=False"):
        MentorChatReducerMiddleware(2, persist=True).wrap_model_call(request, handler)
    response = MentorChatReducerMiddleware(2).wrap_model_call(request, handler)
    assert response == ModelResponse([AIMessage("2")])


def test_another_command_is_kept() -> None:
    """The command of another middleware is applied beside the cut."""

    @wrap_model_call
    def cut_too(request: Any, handler: Callable[[Any], Any]) -> Any:
        note: Command[Any] = Command(update={"messages": [AIMessage("A note.")]})
        return ExtendedModelResponse(handler(request), note)

    ours = MentorChatReducerMiddleware(2, persist=True)
    agent = create_agent(ScriptedModel(script=guide), [], middleware=[ours, cut_too])
    result = agent.invoke({"messages": cast("list[Any]", talk(3)[:5])})
    assert [m.text for m in result["messages"]] == ["2?", "Noted.", "A note."]


# --- on_drop -------------------------------------------------------------------------------------


@both
@pytest.mark.parametrize("form", ["sync", "in a thread", "async"])
def test_on_drop(make: Callable[..., Any], form: str) -> None:
    """`on_drop` is told what is about to go, before it goes, with the graph's runtime."""
    told: list[list[str | None]] = []
    stores: list[object] = []

    def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        told.append([m.id for m in dropped])
        stores.append(runtime.store)

    async def aon_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        await asyncio.sleep(0)
        on_drop(dropped, runtime)

    agent = make(
        ScriptedModel(script=guide),
        [],
        InMemorySaver(),
        max_messages=2,
        on_drop=aon_drop if form == "async" else on_drop,
    )
    agent.store = InMemoryStore()
    asked = {"messages": talk(3)[:5]}
    if form == "sync":
        agent.invoke(asked, THREAD)
    else:
        asyncio.run(agent.ainvoke(asked, THREAD))
    assert told == [["q0", "a0", "q1", "a1"]]
    assert stores == [agent.store]


@both
def test_async_on_drop_needs_async(make: Callable[..., Any]) -> None:
    """An async `on_drop` under `invoke` is a `TypeError`, and nothing goes."""

    async def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        """Never run."""

    agent = make(ScriptedModel(script=guide), [], InMemorySaver(), max_messages=2, on_drop=on_drop)
    with pytest.raises(TypeError, match="on_drop is async"):
        agent.invoke({"messages": talk(3)[:5]}, THREAD)
    assert len(agent.get_state(THREAD).values["messages"]) == 5


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
@pytest.mark.parametrize("sync", [True, False])
def test_on_drop_that_raises(make: Callable[..., Any], sync: bool) -> None:  # noqa: FBT001
    """If `on_drop` raises, nothing is removed; the next run delivers the same again."""
    told: list[list[str | None]] = []

    def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        del runtime
        told.append([m.id for m in dropped])
        if len(told) == 1:
            msg = "archive is down"
            raise OSError(msg)

    model = ScriptedModel(script=guide)
    agent = make(model, [], InMemorySaver(), max_messages=2, on_drop=on_drop)

    def run(messages: list[BaseMessage]) -> None:
        asked = {"messages": messages}
        if sync:
            agent.invoke(asked, THREAD)
        else:
            asyncio.run(agent.ainvoke(asked, THREAD))

    with pytest.raises(OSError, match="archive is down"):
        run(talk(3)[:5])
    assert len(agent.get_state(THREAD).values["messages"]) == 5
    assert model.windows == []
    run([HumanMessage("Again?")])
    assert told == [["q0", "a0", "q1", "a1"], ["q0", "a0", "q1", "a1"]]
    held = [m.text for m in agent.get_state(THREAD).values["messages"]]
    assert held == ["2?", "Again?", "Noted."]


def test_replay_delivers_again() -> None:
    """Time travel delivers again: an archive by message id holds each message once."""
    archive: dict[str | None, BaseMessage] = {}
    deliveries: list[int] = []

    def on_drop(dropped: list[BaseMessage], runtime: Runtime[Any]) -> None:
        del runtime
        deliveries.append(len(dropped))
        archive.update({m.id: m for m in dropped})

    agent = modern(
        ScriptedModel(script=guide), [], InMemorySaver(), max_messages=2, on_drop=on_drop
    )
    agent.invoke({"messages": talk(3)[:5]}, THREAD)
    before = next(s for s in agent.get_state_history(THREAD) if s.next == ("model",))
    agent.invoke(None, before.config)
    assert deliveries == [4, 4]
    assert list(archive) == ["q0", "a0", "q1", "a1"]


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
    for n, question in enumerate([FIRST, SECOND, "Remark.", FIRST, SECOND, "Remark."]):
        for each in (agent, plain):
            each.invoke({"messages": [HumanMessage(question, id=f"q{n}")]}, THREAD)
    held = agent.get_state(THREAD).values["messages"]
    everything = plain.get_state(THREAD).values["messages"]
    texts = [m.text for m in [*archive.values(), *held]]
    assert len(archive) + len(held) == len(everything)
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

    agent = create_agent(
        ScriptedModel(script=script),
        [recall],
        middleware=[MentorChatReducerMiddleware(4, persist=True, on_drop=archive)],
        checkpointer=InMemorySaver(),
        store=InMemoryStore(),
    )
    said = ["My color is green.", "One.", "Two.", "Three.", "What was my color?"]
    for text in said:
        state = agent.invoke({"messages": [HumanMessage(text)]}, THREAD)
    assert state["messages"][-1].text == "You said: My color is green."


def test_persist_calls_the_model_once(caplog: pytest.LogCaptureFixture) -> None:
    """The async form cuts, tells and calls as the sync form does, and stays silent."""
    order: list[str] = []

    async def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
        order.append(f"model sees {len(request.messages)}")
        return ModelResponse([AIMessage("A", id="a")])

    middleware = MentorChatReducerMiddleware(
        2, persist=True, on_drop=lambda dropped, _: order.append(f"{len(dropped)} go")
    )
    history = cast("list[AnyMessage]", talk(2))
    request: ModelRequest[Any] = ModelRequest(
        model=ScriptedModel(script=guide),
        messages=history,
        state={"messages": history},
        runtime=Runtime(),
    )
    answering: Awaitable[Any] = middleware.awrap_model_call(request, handler)

    async def run() -> Any:
        return await answering

    response = asyncio.run(run())
    assert order == ["2 go", "model sees 2"]
    assert response.command.update == {"messages": [RemoveMessage(id="q0"), RemoveMessage(id="a0")]}
    assert caplog.text == ""


@pytest.mark.parametrize("id_", [None, "q1", "own"])
def test_marker_is_never_used(id_: str | None) -> None:
    """No update holds the marker that removes all, whatever the ids."""
    history = talk(2)
    history[0] = history[0].model_copy(update={"id": id_})
    update = cut_of(history).update()
    written = update.value if isinstance(update, Overwrite) else update
    assert REMOVE_ALL_MESSAGES not in {m.id for m in written}
