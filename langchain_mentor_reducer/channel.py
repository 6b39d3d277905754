"""The reducer as a state channel: a bounded history that no node has to think of.

LangGraph applies a plain reducer function to each write, and a cut between the results of
two parallel calls would strand the second. A channel sees all writes of a superstep at once.
"""

from collections.abc import Sequence
from typing import Any, Self, Unpack

from langchain_core.messages import AnyMessage
from langgraph.channels.binop import BinaryOperatorAggregate
from langgraph.graph.message import add_messages

from langchain_mentor_reducer.options import Options
from langchain_mentor_reducer.runnable import MentorChatReducer

_LEAST = 2  # a question and its answer


class BoundedMessages(BinaryOperatorAggregate[Any]):
    """What `bounded_messages` makes: `add_messages`, then the rule once a superstep."""

    __slots__ = ("reducer",)

    def __init__(
        self,
        typ: Any = list[AnyMessage],
        operator: Any = add_messages,
        reducer: MentorChatReducer | None = None,
    ) -> None:
        super().__init__(typ, operator)
        self.reducer = reducer

    def __eq__(self, other: object) -> bool:
        """Compare options: two schemas of a graph may name the same channel."""
        return isinstance(other, BoundedMessages) and self.reducer == other.reducer

    __hash__ = None  # type: ignore[assignment]

    def copy(self) -> Self:
        """Return a copy with the same messages."""
        return self._like(super().copy())

    def from_checkpoint(self, checkpoint: Any) -> Self:
        """Return a copy with the messages of a checkpoint."""
        return self._like(super().from_checkpoint(checkpoint))

    def update(self, values: Sequence[Any]) -> bool:
        """Take in the writes of a superstep, then cut."""
        changed = super().update(values)
        if changed and self.reducer:
            history, cut = self.reducer.decide(self.value, written=True)
            # A call may wait for its result still, so the last step is left as it is.
            self.value = self.reducer.sent(cut.of(history), answer_last=False)
        return changed

    def _like(self, copy: Self) -> Self:
        copy.reducer = self.reducer
        return copy


def bounded_messages(
    max_messages: int | None = None, **options: Unpack[Options]
) -> BoundedMessages:
    """Make a state channel that keeps the most recent whole turns that fit.

    ```python
    from typing import Annotated, TypedDict

    from langchain_core.messages import AIMessage, AnyMessage
    from langchain_mentor_reducer import bounded_messages
    from langgraph.graph import START, StateGraph


    class State(TypedDict):
        messages: Annotated[list[AnyMessage], bounded_messages(4)]


    builder = StateGraph(State)
    builder.add_node("model", lambda state: {"messages": [AIMessage("Hello!")]})
    graph = builder.add_edge(START, "model").compile()

    history = []
    for question in ["One?", "Two?", "Three?"]:
        history = graph.invoke({"messages": [*history, ("user", question)]})["messages"]
    assert [message.text for message in history] == ["Two?", "Hello!", "Three?", "Hello!"]
    ```

    It does all that `add_messages` does, then applies the rule once a superstep. What is cut
    is gone from the thread's state; earlier checkpoints still hold it.

    Args:
        max_messages: The most messages to keep, the system message not counted; at least 2,
            for the answer stands beside its question.
        options: See `Options`. `overflow` is `"keep"` unless it is set.

    Raises:
        ValueError: An option is wrong, misspelt, or no budget is set.
    """
    options.setdefault("overflow", "keep")
    reducer = MentorChatReducer(max_messages, **options)
    if reducer.max_messages is not None and reducer.max_messages < _LEAST:
        msg = "max_messages=1 leaves no room for an answer beside its question: set 2 or more"
        raise ValueError(msg)
    return BoundedMessages(reducer=reducer)
