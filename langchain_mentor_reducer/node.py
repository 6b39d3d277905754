"""The reducer as a graph node, and as the hook before an agent's model."""

from collections.abc import Mapping
from typing import Annotated, Any, Self, Unpack

from langchain_core.runnables import RunnableConfig, RunnableSerializable
from langgraph.runtime import get_runtime
from pydantic import StrictBool, WithJsonSchema, model_validator

from langchain_mentor_reducer.options import Options, ReducerOptions
from langchain_mentor_reducer.persist import OnDrop, StateCut, check_on_drop, cut_state
from langchain_mentor_reducer.rule import Overflow


class MentorChatReducerNode(RunnableSerializable[Any, dict[str, Any]], ReducerOptions):
    """Bounds what the model sees: the most recent whole turns that fit.

    It writes the window under a second key. Declare that key as a plain list: LangGraph drops
    an undeclared one without a word.

    ```python
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer import MentorChatReducerNode

    node = MentorChatReducerNode(3, input_messages_key="history", output_messages_key="window")
    history = [HumanMessage("One?"), AIMessage("1"), HumanMessage("Two?")]
    assert node.invoke({"history": history}) == {"window": history}
    ```

    It fits `create_react_agent(..., pre_model_hook=MentorChatReducerNode(50))` as it is. In a
    graph of your own you need no node: call `reduce_messages` where you call the model.

    Args:
        max_messages: The most messages to keep, the system message not counted.
        name: The name in traces.
        options: See `Options`, and the attributes. `overflow` is `"keep"` unless it is set.

    Raises:
        pydantic.ValidationError: An option is wrong, the keys are equal, or `on_drop` stands
            without `persist`. It is a `ValueError`.
    """

    overflow: Overflow = "keep"
    """What to do when the newest step does not fit beside its question."""

    input_messages_key: str = "messages"
    """The key, or attribute, of the state that holds the history."""

    output_messages_key: str = "llm_input_messages"
    """The key that the window is written to."""

    persist: StrictBool = False
    """Whether to remove from the state what is not in the window. The history must be merged by
    `add_messages`."""

    on_drop: Annotated[OnDrop | None, WithJsonSchema({"type": "null", "title": "On Drop"})] = None
    """Called before messages leave the state; see `OnDrop`."""

    def __init__(
        self,
        max_messages: int | None = None,
        *,
        name: str | None = None,
        input_messages_key: str = "messages",
        output_messages_key: str = "llm_input_messages",
        persist: bool = False,
        on_drop: OnDrop | None = None,
        **options: Unpack[Options],
    ) -> None:
        """Check the options."""
        given: dict[str, Any] = {"max_messages": max_messages, "name": name, **options}
        given |= {"input_messages_key": input_messages_key, "persist": persist}
        given |= {"output_messages_key": output_messages_key, "on_drop": on_drop}
        super().__init__(**given)

    @model_validator(mode="after")
    def _check_node(self) -> Self:
        check_on_drop(self.on_drop, persist=self.persist)
        if self.input_messages_key == self.output_messages_key:
            msg = (
                f"both keys are {self.input_messages_key!r}: merged into the history, a window "
                "removes nothing; use two keys, and persist=True to cut the history itself"
            )
            raise ValueError(msg)
        return self

    def invoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the update of the state: the window, and with `persist` the removals.

        Raises:
            TypeError: `input` is a list, or `on_drop` is async.
            OverBudgetError: The newest step does not fit, under `overflow="error"`.
            ValueError: The budget leaves nothing, or the state has no such key.
        """
        return self._call_with_config(self._reduce, input, config)

    async def ainvoke(
        self, input: Any, config: RunnableConfig | None = None, **kwargs: Any
    ) -> dict[str, Any]:
        """Return the update of the state, in the event loop."""
        return await self._acall_with_config(self._areduce, input, config)

    def _reduce(self, state: Any) -> dict[str, Any]:
        cut = self._cut_state(state)
        cut.tell(self.on_drop, get_runtime())
        return self._update(cut)

    async def _areduce(self, state: Any) -> dict[str, Any]:
        cut = self._cut_state(state)
        await cut.atell(self.on_drop, get_runtime())
        return self._update(cut)

    def _cut_state(self, state: Any) -> StateCut:
        key = self.input_messages_key
        if isinstance(state, list):
            msg = "Expected a graph's state, got a list: to reduce a list, use MentorChatReducer."
            raise TypeError(msg)
        try:
            messages = state[key] if isinstance(state, Mapping) else getattr(state, key)
        except (KeyError, AttributeError):
            msg = f"The state has no {key!r}: name the key of the history in input_messages_key."
            raise ValueError(msg) from None
        return cut_state(self, messages, persist=self.persist)

    def _update(self, cut: StateCut) -> dict[str, Any]:
        # The window is always written: without one, the model would get an earlier one, or all.
        update: dict[str, Any] = {self.output_messages_key: cut.view}
        if cut.leaving:
            update[self.input_messages_key] = cut.update()
        return update
