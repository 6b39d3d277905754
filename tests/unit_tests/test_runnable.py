"""The runnable and the function: what every LangChain user may do with them."""

import asyncio
import logging
import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    MessageLikeRepresentation,
    RemoveMessage,
    SystemMessage,
    convert_to_messages,
)
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.runnables import ConfigurableField, RunnableLambda
from langchain_core.tracers import BaseTracer
from langchain_core.tracers.schemas import Run

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from langchain_mentor_reducer.rule import OverBudgetError
from tests.unit_tests.corners import ask, call, letters_of, result, say
from tests.unit_tests.histories import any_history, budgets

HISTORY = [ask("One?"), say("1"), ask("Two?"), call("a"), result("a"), say("2"), ask("Three?")]


def is_long(message: BaseMessage) -> bool:
    """Stand for a predicate that can be pickled."""
    return len(message.text) > 1


@given(any_history(), budgets(tokens=letters_of, trim_to=True))
def test_all_ways_are_one(history: list[BaseMessage], options: dict[str, Any]) -> None:
    """Function, `invoke`, `ainvoke` and `batch` return the same."""
    reducer = MentorChatReducer(**options)
    expected = reduce_messages(history, **options)
    assert reducer.invoke(history) == expected
    assert asyncio.run(reducer.ainvoke(history)) == expected
    assert reducer.batch([history, history]) == [expected, expected]


async def test_async_stays_in_its_thread() -> None:
    """`ainvoke` borrows no thread: there is nothing to wait for."""
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(1) as pool:
        loop.set_default_executor(pool)
        assert await MentorChatReducer(1).ainvoke(HISTORY) == HISTORY[-1:]
        assert not pool._threads


@pytest.mark.parametrize("wrong", [True, 1.0, "1", [1], None])
def test_a_right_budget_makes_no_wrong_one_right(wrong: Any) -> None:
    """The function refuses what is equal to a budget that it has checked, but is none."""
    assert reduce_messages(HISTORY, max_messages=1) == HISTORY[-1:]
    with pytest.raises(ValueError, match=r"budget|max_messages"):
        reduce_messages(HISTORY, max_messages=wrong)


class TestInput:
    """What a history may be given as."""

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            ([ask(), ("ai", "1"), {"role": "user", "content": "?"}], [HumanMessage("?")]),
            ([("system", "Be brief."), *HISTORY * 9], [SystemMessage("Be brief."), HISTORY[-1]]),
            (tuple(HISTORY), HISTORY[-1:]),
            (ChatPromptValue(messages=HISTORY), HISTORY[-1:]),
        ],
        ids=["message-likes", "a system message before a long history", "tuple", "prompt value"],
    )
    def test_any_form(self, given: Any, kept: list[BaseMessage]) -> None:
        """What `trim_messages` takes is taken, and a chain hands it over as well."""
        assert reduce_messages(given, max_messages=1) == kept
        assert (RunnableLambda(lambda _: given) | MentorChatReducer(1)).invoke(0) == kept

    @given(any_history(), budgets(tokens=letters_of, trim_to=True), st.data())
    def test_message_like_anywhere(
        self, history: list[BaseMessage], options: dict[str, Any], data: st.DataObject
    ) -> None:
        """One message-like counts like the message it stands for, in what is dropped, too."""
        like = data.draw(st.sampled_from([("system", "Be brief."), ("user", "?"), ("ai", "!")]))
        place = data.draw(st.integers(0, len(history)))
        mixed: list[MessageLikeRepresentation] = [*history[:place], like, *history[place:]]
        converted = convert_to_messages(mixed)
        assert reduce_messages(mixed, **options) == reduce_messages(converted, **options)

    @pytest.mark.parametrize(
        ("wrong", "error", "fix"),
        [
            ({"messages": HISTORY}, TypeError, "got one dict.*MentorChatReducerNode in a graph"),
            ("Hello", TypeError, "Expected a list of messages, got one str"),
            (b"Hello", TypeError, "Expected a list of messages, got one bytes"),
            (HISTORY[0], TypeError, "Expected a list of messages, got one HumanMessage"),
            (3, TypeError, "Expected a list of messages, got one int"),
            ([*HISTORY, RemoveMessage(id="1")], ValueError, "Apply it first, with `add_messages"),
            ([3], NotImplementedError, "message"),
        ],
    )
    def test_wrong_input(self, wrong: Any, error: type[Exception], fix: str) -> None:
        """What is no list is refused, with the fix; what no one can convert, by LangChain."""
        for reduce in (MentorChatReducer(3).invoke, MentorChatReducer(3).reduce):
            with pytest.raises(error, match=fix):
                reduce(wrong)


class TestChain:
    """In a chain."""

    def test_without_messages_it_is_a_runnable(self) -> None:
        """`reduce_messages` without messages is what stands in a pipe."""
        assert reduce_messages(max_messages=3) == MentorChatReducer(3)

    def test_streams(self) -> None:
        """The model behind it still streams."""
        model = GenericFakeChatModel(messages=iter([AIMessage("a b c")]))
        chunks = list((reduce_messages(max_messages=3) | model).stream(HISTORY))
        assert [chunk.text for chunk in chunks if chunk.text] == ["a", " ", "b", " ", "c"]

    def test_streamed_input(self) -> None:
        """It waits for what streams into it."""

        def speak(_: Any) -> Iterator[list[AIMessageChunk]]:
            yield [AIMessageChunk(content="a")]
            yield [AIMessageChunk(content="b")]

        chain = RunnableLambda(speak) | MentorChatReducer(1)
        assert [m.text for m in chain.invoke(None)] == ["b"]

    def test_configured_at_run_time(self) -> None:
        """A budget may be chosen for each call, a wrong one is refused then, the rest stays."""
        reducer = MentorChatReducer(50, overflow="error", name="mine").configurable_fields(
            max_messages=ConfigurableField(id="max_messages")
        )

        def kept(history: list[BaseMessage], most: int) -> int:
            return len(reducer.invoke(history, {"configurable": {"max_messages": most}}))

        assert len(reducer.invoke(HISTORY)) == 7
        assert kept(HISTORY, 1) == 1
        with pytest.raises(ValueError, match="max_messages"):
            kept(HISTORY, 0)
        with pytest.raises(OverBudgetError):
            kept(HISTORY[:5], 1)

    def test_name(self) -> None:
        """Traces and drawn graphs show what it is, or the name that was given."""

        class Names(BaseTracer):
            def _persist_run(self, run: Run) -> None:
                names.append(run.name)

        names: list[str] = []
        for reducer in (MentorChatReducer(3), MentorChatReducer(3, name="window")):
            reducer.invoke(HISTORY, {"callbacks": [Names()]})
        assert names == ["MentorChatReducer", "window"]
        drawn = (MentorChatReducer(3) | RunnableLambda(len)).get_graph().draw_mermaid()
        assert "MentorChatReducer" in drawn

    def test_input_schema(self) -> None:
        """The input has a JSON schema: messages, message-likes or a prompt value."""
        schema = MentorChatReducer(3).get_input_jsonschema()
        kinds = {kind.get("type", kind.get("$ref")) for kind in schema["anyOf"]}
        assert kinds == {"array", "#/$defs/PromptValue"}
        assert "BaseMessage" in schema["$defs"]

    def test_option_schema(self) -> None:
        """The options have a JSON schema too, callables and all."""
        properties = MentorChatReducer.model_json_schema()["properties"]
        assert properties.keys() >= {"max_messages", "token_counter", "starts_turn", "trim_to"}
        assert all(
            option.get("description") for name, option in properties.items() if name != "name"
        )


class TestSaved:
    """Written down and read back."""

    @pytest.mark.parametrize(
        "reducer",
        [
            MentorChatReducer(3),
            MentorChatReducer(max_tokens=9, token_counter=letters_of, trim_to=0.5),
            MentorChatReducer(3, starts_turn=is_long, overflow="keep", name="mine"),
        ],
        ids=repr,
    )
    def test_pickle(self, reducer: MentorChatReducer) -> None:
        """It pickles, used or not, if its callables can be imported."""
        assert pickle.loads(pickle.dumps(reducer)) == reducer  # noqa: S301
        reducer.invoke(HISTORY)
        assert pickle.loads(pickle.dumps(reducer)).invoke(HISTORY) == reducer.invoke(HISTORY)  # noqa: S301

    @pytest.mark.filterwarnings("ignore:The function `load` is in beta")
    def test_dumpd(self) -> None:
        """`dumpd` and `load` round-trip it, for whoever allows the class."""
        reducer = MentorChatReducer(3, max_turns=2, overflow="keep", trim_to=0.5)
        allowed: Any = {"allowed_objects": [MentorChatReducer]}
        read = load(dumpd(reducer), valid_namespaces=["langchain_mentor_reducer"], **allowed)
        assert read == reducer

    def test_equal(self) -> None:
        """Equal options make equal reducers, used or not."""
        used = MentorChatReducer(3)
        used.invoke(HISTORY)
        assert used == MentorChatReducer(3)
        assert used != MentorChatReducer(4)
        assert repr(used) == "MentorChatReducer(max_messages=3)"


def test_one_instance_serves_many_threads() -> None:
    """32 threads at once get each what it would get alone."""
    reducer = MentorChatReducer(5, trim_to=0.6)
    histories = [HISTORY * n for n in range(1, 33)]
    with ThreadPoolExecutor(32) as pool:
        at_once = list(pool.map(reducer.invoke, histories * 8))
    assert at_once == [reducer.invoke(history) for history in histories] * 8


def test_no_state_reducer() -> None:
    """As a state reducer it is refused, naming the channel that may stand there."""
    with pytest.raises(TypeError, match="bounded_messages"):
        MentorChatReducer(3)([], [])


class TestLog:
    """What is logged."""

    def test_overflow_warns_once(self, caplog: pytest.LogCaptureFixture) -> None:
        """A reduction that overflows warns once, naming the options."""
        for overflow in ("trim", "keep"):
            caplog.clear()
            reduce_messages(HISTORY[2:5], max_messages=2, overflow=overflow)
            [record] = caplog.records
            assert record.levelno == logging.WARNING
            assert f"overflow='{overflow}', max_messages=2" in record.getMessage()

    def test_fold_warns_for_the_end_alone(self, caplog: pytest.LogCaptureFixture) -> None:
        """What overflowed earlier in a thread was warned about then."""
        history = [ask(), call("a", "b"), result("a"), result("b"), say(), ask()]
        reduce_messages(history, max_messages=3, trim_to=0.9)
        assert not caplog.records

    def test_debug(self, caplog: pytest.LogCaptureFixture) -> None:
        """At debug level a reduction says what it kept of what."""
        with caplog.at_level(logging.DEBUG, "langchain_mentor_reducer"):
            reduce_messages(HISTORY, max_messages=1)
        assert [record.getMessage() for record in caplog.records] == ["Kept 1 of 7 messages."]

    def test_error_names_the_sizes(self) -> None:
        """`overflow="error"` raises, with the sizes and the ways out."""
        with pytest.raises(OverBudgetError, match=r"3 messages where 2 fit.*overflow="):
            reduce_messages(HISTORY[2:5], max_messages=2, overflow="error")


def test_typed_for_a_graph() -> None:
    """What comes out of a state's messages may go back into the state."""
    messages: list[AnyMessage] = [HumanMessage("One?")]
    window: list[AnyMessage] = reduce_messages(messages, max_messages=3)
    assert window == messages
