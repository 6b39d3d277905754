"""The faces inside whole agents, beside what else stands in them.

Each agent runs with the model's view bounded, with the state bounded by the middleware, and with
the state bounded by its channel. A model call is right if a provider would take it.
"""

from collections.abc import Callable
from typing import Annotated, Any, cast

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import (
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    HumanInTheLoopMiddleware,
    SummarizationMiddleware,
    ToolCallLimitMiddleware,
)
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain.tools import ToolRuntime, tool
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from langchain_mentor_reducer import MentorChatReducerMiddleware, bounded_messages
from tests.refusals import refusal
from tests.scripted import ScriptedModel, call, calling

THREAD: Any = {"configurable": {"thread_id": "1"}, "recursion_limit": 1000}
BUDGET = 6


class Bounded(AgentState[Any]):
    """A state that its channel bounds."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET)]


class Mended(AgentState[Any]):
    """A state that its channel bounds and mends."""

    messages: Annotated[list[AnyMessage], bounded_messages(BUDGET, mend=True)]


def face(name: str) -> Callable[..., Any]:
    """Return `create_agent`, with one of our faces in it."""
    mend = "mend" in name

    def make(
        model: ScriptedModel,
        tools: list[Any],
        *others: Any,
        behind: bool = True,
        budget: int = BUDGET,
        **options: Any,
    ) -> Any:
        """Make an agent; ours stands behind the other middleware, or before it."""
        if "channel" in name:
            state = {"state_schema": Mended if mend else Bounded} | options
            return create_agent(model, tools, middleware=others, **state)
        ours = MentorChatReducerMiddleware(budget, persist="persist" in name, mend=mend)
        middleware = [*others, ours] if behind else [ours, *others]
        return create_agent(model, tools, middleware=middleware, **options)

    return make


FACES = ["view", "persist", "channel"]
MENDING = [*FACES, *(f"{name}, mend" for name in FACES)]
faces = pytest.mark.parametrize("make", [*map(face, FACES)], ids=FACES)
waiting = pytest.mark.parametrize("make", [*map(face, MENDING)], ids=MENDING)


def ask(agent: Any, text: str) -> list[BaseMessage]:
    """Ask an agent on its thread; return its messages."""
    state = agent.invoke({"messages": [HumanMessage(text)]}, THREAD)
    return cast("list[BaseMessage]", state["messages"])


def remark(agent: Any) -> None:
    """Let a thread go on, so that it is cut."""
    for n in range(4):
        assert ask(agent, f"Remark {n}.")[-1].text == "Noted."


def check(model: ScriptedModel, budget: int = BUDGET) -> None:
    """Every model call fits the budget, and a provider takes it."""
    assert model.windows
    for window in model.windows:
        assert refusal(window) is None
        assert len(window) <= budget


# --- Tools ---------------------------------------------------------------------------------------


@tool
def count(number: int) -> str:
    """Say the next number."""
    return str(number + 1)


def loop(steps: int, width: int = 1) -> Callable[[list[BaseMessage]], AIMessage]:
    """Make a script that counts with a tool, from one result to the next, `width` times at once."""

    def script(window: list[BaseMessage]) -> AIMessage:
        last = window[-1]
        if isinstance(last, HumanMessage) and last.text != "Count.":
            return AIMessage("Noted.")
        if not any(m.text == "Count." for m in window):
            return AIMessage("What was I asked?")
        number = int(last.text) if isinstance(last, ToolMessage) else 0
        if number == steps:
            seen = sum(m.text == last.text for m in window if isinstance(m, ToolMessage))
            return AIMessage(f"{number}, seen {seen} times.")
        calls = [call("count", f"c{number}.{i}", number=number) for i in range(width)]
        return calling(*calls)

    return script


@pytest.mark.parametrize("name", FACES)
def test_long_tool_loop(name: str) -> None:
    """200 steps: the question is never lost, every call is right, and what is cut does not grow."""
    model = ScriptedModel(script=loop(200))
    messages = ask(face(name)(model, [count]), "Count.")
    assert messages[-1].text == "200, seen 1 times."
    assert len(model.windows) == 201
    assert len(messages) == 402 if name == "view" else len(messages) <= BUDGET + 1
    check(model)


@faces
def test_wide_parallel_calls(make: Callable[..., Any]) -> None:
    """More parallel calls than the budget holds: the step stays whole, and is not called again."""
    model = ScriptedModel(script=loop(3, width=20))
    agent = make(model, [count], checkpointer=InMemorySaver())
    ask(agent, "A remark.")
    assert ask(agent, "Count.")[-1].text == "3, seen 20 times."
    assert len(model.windows) == 5
    check(model, 22)


class Visits(AgentState[Any]):
    """A state that tools write to."""

    visited: Annotated[list[str], lambda a, b: a + b]


class BoundedVisits(Bounded):
    """The same with a bounded channel."""

    visited: Annotated[list[str], lambda a, b: a + b]


@tool
def visit(place: str, runtime: ToolRuntime) -> Command[Any]:
    """Go to a place."""
    result = ToolMessage(f"At {place}.", tool_call_id=runtime.tool_call_id)
    return Command(update={"visited": [place], "messages": [result]})


@pytest.mark.parametrize("name", FACES)
def test_tools_that_return_commands(name: str) -> None:
    """Tools that return `Command` write their results and other keys, wherever the cut falls."""

    def script(window: list[BaseMessage]) -> AIMessage:
        if isinstance(window[-1], HumanMessage):
            place = window[-1].text
            return calling(*(call("visit", f"{place}{i}", place=f"{place}{i}") for i in range(2)))
        return AIMessage(", ".join(m.text for m in window[-2:]))

    model = ScriptedModel(script=script)
    schema = BoundedVisits if name == "channel" else Visits
    agent = face(name)(model, [visit], state_schema=schema, checkpointer=InMemorySaver())
    for place in "abc":
        assert ask(agent, place)[-1].text == f"At {place}0., At {place}1."
    assert sorted(agent.get_state(THREAD).values["visited"]) == ["a0", "a1", "b0", "b1", "c0", "c1"]
    check(model)


class Height(BaseModel):
    """A structured answer."""

    meters: int


@faces
@pytest.mark.parametrize("strategy", [ToolStrategy, ProviderStrategy])
def test_structured_output(make: Callable[..., Any], strategy: Any) -> None:
    """Structured output, by a tool or by the provider, comes through in every turn."""

    def script(window: list[BaseMessage]) -> AIMessage:
        meters = int(window[-1].text)
        if strategy is ToolStrategy:
            return calling(call("Height", f"h{meters}", meters=meters))
        return AIMessage(Height(meters=meters).model_dump_json())

    model = ScriptedModel(script=script)
    agent = make(model, [], response_format=strategy(Height), checkpointer=InMemorySaver())
    for meters in range(5):
        asked = {"messages": [HumanMessage(str(meters))]}
        assert agent.invoke(asked, THREAD)["structured_response"] == Height(meters=meters)
    check(model)


# --- People --------------------------------------------------------------------------------------


@tool
def send(text: str) -> str:
    """Send a letter."""
    return f"Sent {text}."


def clerk(window: list[BaseMessage]) -> AIMessage:
    """Send as many letters as asked for, then repeat what came back."""
    last = window[-1]
    if isinstance(last, ToolMessage):
        results: list[str] = []
        for message in reversed(window):
            if not isinstance(message, ToolMessage):
                break
            results.insert(0, f"{message.tool_call_id}: {message.text.rpartition(': ')[2]}")
        return AIMessage(" ".join(sorted(results)))
    if last.text.startswith("Send "):
        letters = last.text.removeprefix("Send ").split()
        return calling(*(call("send", letter, text=letter) for letter in letters))
    return AIMessage("Noted.")


def rejected(message: str) -> dict[str, str]:
    """A person says no."""
    return {"type": "reject", "message": message}


def responded(message: str) -> dict[str, str]:
    """A person says what the tool would."""
    return {"type": "respond", "message": message}


YES = {"type": "approve"}
EDIT = {"type": "edit", "edited_action": {"name": "send", "args": {"text": "B"}}}


@waiting
@pytest.mark.parametrize(
    ("letters", "decisions", "said"),
    [
        ("a", [YES], "a: Sent a."),
        ("a", [EDIT], "Sent B."),
        ("a", [rejected("Too long.")], "a: Too long."),
        ("a", [responded("I told them.")], "a: I told them."),
        (
            "a b c d",
            [YES, rejected("No."), responded("Done."), YES],
            "a: Sent a. b: No. c: Done. d: Sent d.",
        ),
    ],
    ids=["approve", "edit", "reject", "respond", "batched"],
)
def test_human_review(
    make: Callable[..., Any], letters: str, decisions: list[dict[str, Any]], said: str
) -> None:
    """A person decides on calls, with cuts before, while and after the calls wait."""
    review = HumanInTheLoopMiddleware(
        {"send": {"allowed_decisions": ["approve", "edit", "reject", "respond"]}}
    )
    model = ScriptedModel(script=clerk)
    agent = make(model, [send], review, checkpointer=InMemorySaver())
    remark(agent)
    for _ in range(2):
        waiting = agent.invoke({"messages": [HumanMessage(f"Send {letters}")]}, THREAD)
        assert waiting["__interrupt__"]
        assert [c["id"] for c in waiting["messages"][-1].tool_calls] == letters.split()
        state = agent.invoke(Command(resume={"decisions": decisions}), THREAD)
        assert said in state["messages"][-1].text
        remark(agent)
    check(model)


@tool
def confirm(text: str) -> str:
    """Ask a person."""
    return f"The person says {interrupt(text)}."


@waiting
def test_interrupt_in_a_tool(make: Callable[..., Any]) -> None:
    """A tool that asks a person finds its call still there, in a thread that is cut often."""

    def script(window: list[BaseMessage]) -> AIMessage:
        last = window[-1]
        if isinstance(last, ToolMessage):
            return AIMessage(" ".join(m.text for m in window if isinstance(m, ToolMessage)))
        if last.text == "Both?":
            return calling(call("confirm", "1", text="one"), call("confirm", "2", text="two"))
        return AIMessage("Noted.")

    model = ScriptedModel(script=script)
    agent = make(model, [confirm], checkpointer=InMemorySaver())
    remark(agent)
    waiting = agent.invoke({"messages": [HumanMessage("Both?")]}, THREAD)["__interrupt__"]
    answers = {i.id: f"yes to {i.value}" for i in waiting}
    said = agent.invoke(Command(resume=answers), THREAD)["messages"][-1].text
    assert said == "The person says yes to one. The person says yes to two."
    remark(agent)
    check(model)


# --- Other middleware ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "budget", "trigger", "stays"),
    [
        ("view", BUDGET, BUDGET, True),
        ("persist", BUDGET, BUDGET, True),
        ("channel", BUDGET, BUDGET - 2, True),
        ("view", 1, BUDGET, False),
        ("persist", 1, BUDGET, False),
    ],
)
def test_beside_summarization(name: str, budget: int, trigger: int, stays: bool) -> None:  # noqa: FBT001
    """With a budget of its trigger, the summary stays in the window; with less it goes as old.

    The channel cuts as soon as a step is written, before the trigger is looked at, and needs room
    for that step.
    """
    model = ScriptedModel(script=loop(2))
    summarize = SummarizationMiddleware(
        ScriptedModel(script=lambda _: AIMessage("They counted.")),
        trigger=("messages", trigger),
        keep=("messages", 2),
        trim_tokens_to_summarize=None,
    )
    agent = face(name)(model, [count], summarize, budget=budget, checkpointer=InMemorySaver())
    for text in ["Remark.", "Count.", "Remark.", "Count.", "Remark."]:
        ask(agent, text)
    sources = [m.additional_kwargs.get("lc_source") for m in model.windows[-1]]
    assert ("summarization" in sources) == stays
    check(model, max(budget, 3))


@faces
@pytest.mark.parametrize("behind", [True, False])
def test_beside_context_editing(make: Callable[..., Any], behind: bool) -> None:  # noqa: FBT001
    """Cleared tool results and whole turns get along, in both orders."""
    edit = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=10, keep=1)])
    model = ScriptedModel(script=loop(20))
    agent = make(model, [count], edit, behind=behind, checkpointer=InMemorySaver())
    ask(agent, "Remark.")
    assert ask(agent, "Count.")[-1].text == "20, seen 1 times."
    assert any(m.text == "[cleared]" for window in model.windows for m in window)
    check(model)


@faces
@pytest.mark.parametrize("exit_behavior", ["continue", "end"])
def test_beside_a_call_limit(make: Callable[..., Any], exit_behavior: Any) -> None:
    """A limit on tool calls answers the calls it blocks, and the next turns go on."""

    def script(window: list[BaseMessage]) -> AIMessage:
        last = window[-1]
        if isinstance(last, ToolMessage) and "limit" in last.text:
            return AIMessage("Enough.")
        return loop(20)(window)

    limit = ToolCallLimitMiddleware(run_limit=3, exit_behavior=exit_behavior)
    model = ScriptedModel(script=script)
    agent = make(model, [count], limit, checkpointer=InMemorySaver())
    for _ in range(3):
        said = ask(agent, "Count.")[-1].text
        assert said == "Enough." or "limit" in said
        assert ask(agent, "Remark.")[-1].text == "Noted."
    check(model)


# --- Graphs of agents ----------------------------------------------------------------------------


@faces
def test_subgraph(make: Callable[..., Any]) -> None:
    """An agent inside a graph bounds its own calls; its parent's state is its parent's to bound."""
    model = ScriptedModel(script=loop(5))
    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", make(model, [count]))
    builder.add_edge(START, "agent")
    graph = builder.compile(checkpointer=InMemorySaver())
    for turn in range(1, 4):
        messages = ask(graph, "Count.")
        assert messages[-1].text == "5, seen 1 times."
        assert sum(isinstance(m, HumanMessage) for m in messages) == turn
    check(model)


@faces
def test_handoff(make: Callable[..., Any]) -> None:
    """Agents hand a bounded thread to one another, in the middle of a turn."""

    @tool
    def hand_over(runtime: ToolRuntime) -> Command[Any]:
        """Hand the conversation to Bob."""
        result = ToolMessage("Over to Bob.", tool_call_id=runtime.tool_call_id)
        messages = [*runtime.state["messages"], result]
        return Command(goto="bob", graph=Command.PARENT, update={"messages": messages})

    def alice(window: list[BaseMessage]) -> AIMessage:
        if window[-1].text == "Count.":
            return calling(call("hand_over", f"h{window[-1].id}"))
        return AIMessage("Noted.")

    def bob(window: list[BaseMessage]) -> AIMessage:
        handed = isinstance(window[-1], ToolMessage) and window[-1].text == "Over to Bob."
        return calling(call("count", "c0", number=0)) if handed else loop(4)(window)

    models = [ScriptedModel(script=alice), ScriptedModel(script=bob)]
    builder: Any = StateGraph(Bounded)
    builder.add_node("alice", make(models[0], [hand_over]), destinations=("bob",))
    builder.add_node("bob", make(models[1], [count]))
    builder.add_edge(START, "alice")
    graph = builder.compile(checkpointer=InMemorySaver())
    for _ in range(3):
        assert ask(graph, "Remark.")[-1].text == "Noted."
        messages = ask(graph, "Count.")
        assert messages[-1].text == "4, seen 1 times."
        assert len(messages) <= BUDGET
    for model in models:
        check(model)
