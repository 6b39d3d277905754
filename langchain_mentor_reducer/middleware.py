"""The reducer as agent middleware, for `create_agent`."""

import math
from collections.abc import Awaitable, Callable
from typing import Any, Unpack

from langchain_core.messages.utils import count_tokens_approximately

from langchain_mentor_reducer.budget import meter
from langchain_mentor_reducer.options import Options
from langchain_mentor_reducer.persist import OnDrop, StateCut, check_on_drop, cut_state
from langchain_mentor_reducer.runnable import MentorChatReducer

try:
    from langchain.agents.middleware import (
        AgentMiddleware,
        AgentState,
        ExtendedModelResponse,
        ModelRequest,
        ModelResponse,
    )
except ImportError as error:
    msg = (
        "MentorChatReducerMiddleware needs langchain 1.2.11 or newer: "
        "pip install 'langchain-mentor-reducer[agents]'"
    )
    raise ImportError(msg) from error
from langgraph.types import Command

Request = ModelRequest[Any]
Response = ModelResponse[Any] | ExtendedModelResponse[Any]


class MentorChatReducerMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Bounds what an agent's model sees: the most recent whole turns that fit.

    ```python
    from langchain.agents import create_agent
    from langchain_core.language_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mentor_reducer import MentorChatReducerMiddleware

    model = GenericFakeChatModel(messages=iter([AIMessage("Hello!")]))
    agent = create_agent(model, tools=[], middleware=[MentorChatReducerMiddleware(50)])
    assert agent.invoke({"messages": [HumanMessage("Hi.")]})["messages"][-1].text == "Hello!"
    ```

    It adds no step to the graph. By default the state keeps the full history, and so does
    the database; `persist=True` cuts both. Put it behind middleware that summarizes.

    With `max_tokens` the agent's system prompt is counted too, and so are its tools when
    `token_counter` is `"approximate"`.

    Args:
        max_messages: The most messages to keep. The system prompt is not counted.
        name: The name in the agent; two instances need two.
        persist: Whether to remove what is not in the window from the agent's own state. It
            goes when the model has answered: a failed call removes nothing.
        on_drop: Told what is about to leave the state; see `OnDrop`.
        options: See `Options`. `overflow` is `"keep"` unless it is set.

    Raises:
        ValueError: An option is wrong, or `on_drop` stands without `persist`.
    """

    def __init__(
        self,
        max_messages: int | None = None,
        *,
        name: str | None = None,
        persist: bool = False,
        on_drop: OnDrop | None = None,
        **options: Unpack[Options],
    ) -> None:
        super().__init__()
        check_on_drop(on_drop, persist=persist)
        options.setdefault("overflow", "keep")
        self.reducer = MentorChatReducer(max_messages, **options)
        self.persist = persist
        self.on_drop = on_drop
        self._name = name

    @property
    def name(self) -> str:
        """The name in the agent: the class's, unless one was given."""
        return self._name or super().name

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> Response:
        """Call the model with the window.

        Raises:
            TypeError: `on_drop` is async.
            ValueError: The budget leaves nothing, the newest step does not fit under
                `overflow="error"`, or other middleware is at odds with `persist=True`.
        """
        cut = self._cut_state(request)
        cut.tell(self.on_drop, request.runtime)
        return _response(handler(_narrowed(request, cut)), cut)

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> Response:
        """Call the model with the window."""
        cut = self._cut_state(request)
        await cut.atell(self.on_drop, request.runtime)
        return _response(await handler(_narrowed(request, cut)), cut)

    def _cut_state(self, request: Request) -> StateCut:
        state, reducer = request.state["messages"], self.reducer
        if self.persist:
            _refuse_hidden(request)
        if reducer.max_tokens is not None:
            # What the request holds beside its messages counts, too.
            system = request.system_message
            tokens = meter(reducer.token_counter)([system] if system else [])
            if request.tools and reducer.token_counter == "approximate":
                tokens += count_tokens_approximately([], tools=request.tools)
            options = {name: getattr(reducer, name) for name in Options.__annotations__}
            options["max_tokens"] = max(1, reducer.max_tokens - math.ceil(tokens))
            reducer = MentorChatReducer(reducer.max_messages, **options)
        return cut_state(reducer, request.messages, state, persist=self.persist)


def _narrowed(request: Request, cut: StateCut) -> Request:
    view: list[Any] = list(cut.view)
    return request if view == request.messages else request.override(messages=view)


def _response(response: ModelResponse[Any], cut: StateCut) -> Response:
    if not cut.leaving:
        return response
    update = {"messages": cut.update(response.result)}
    return ExtendedModelResponse(response, Command(update=update))


def _refuse_hidden(request: Request) -> None:
    """Refuse to cut a state that is not all shown, or that deepagents keeps an index into."""
    hidden = {m.id for m in request.state["messages"]} - {m.id for m in request.messages}
    if hidden or request.state.get("_summarization_event"):
        msg = (
            "persist=True cannot cut a state that another middleware shows in part, as "
            "deepagents' summarization does: use persist=False, or, if the other one only "
            "filters, put this one first"
        )
        raise ValueError(msg)
