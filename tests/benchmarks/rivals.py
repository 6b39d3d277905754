"""What else bounds a history: the packages themselves, called as their users' code calls them.

Some of them decide where to cut and then ask a model for a summary. Only what comes before the
model is timed. Methods that are not public are called where nothing public does the same.
"""

import copy
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, NamedTuple

from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage, trim_messages
from langchain_core.messages.utils import count_tokens_approximately

from langchain_mentor_reducer import MentorChatReducer
from tests.benchmarks.clock import Call
from tests.benchmarks.histories import History
from tests.benchmarks.versions import installed

Counts = Literal["messages", "turns", "tokens"]


class Window(NamedTuple):
    """The same window as a budget of messages, of turns and of tokens."""

    messages: int
    turns: int
    tokens: int


class Rival(NamedTuple):
    """One way to bound a history."""

    name: str
    counts: Counts
    package: str
    """The distribution that it is in."""
    prepare: Callable[[History, Window], Call]
    """Sets it up for a history; what it returns is timed."""


def window(history: History, messages: int) -> Window:
    """Measure the last messages of a history in turns and in tokens."""
    kept = history[-messages:]
    turns = sum(isinstance(message, HumanMessage) for message in kept)
    if isinstance(history[0], SystemMessage) and kept[0] is not history[0]:
        kept = [history[0], *kept]
    return Window(messages, max(1, turns), count_tokens_approximately(kept))


def _one(message: BaseMessage) -> int:
    return count_tokens_approximately([message])


# --- this package --------------------------------------------------------------------------------


ORDER: tuple[Counts, ...] = ("messages", "turns", "tokens")
_SHARES: dict[str, dict[str, Any]] = {"": {}, ", `trim_to`": {"trim_to": 0.6}}


def _ours(counts: Counts, more: dict[str, Any], history: History, size: Window) -> Call:
    options = {f"max_{counts}": getattr(size, counts)} | more
    return partial(MentorChatReducer(**options).reduce, history)


OURS = tuple(
    Rival(f"**this package**{n}", counts, "langchain-mentor-reducer", partial(_ours, counts, more))
    for n, more in _SHARES.items()
    for counts in ORDER
)
"""The first of each count is what the others are compared with."""


# --- the others ----------------------------------------------------------------------------------


def _trim_messages(counter: Any, history: History, size: Window) -> Call:
    return partial(
        trim_messages,
        history,
        max_tokens=size.messages + 1 if counter is len else size.tokens,
        token_counter=counter,
        strategy="last",
        start_on="human",
        include_system=True,
    )


def _summarization(keep: Counts, size: Window) -> Any:
    from langchain.agents.middleware import SummarizationMiddleware  # noqa: PLC0415 - slow to import

    amount: Any = (keep, getattr(size, keep))
    return SummarizationMiddleware(
        FakeListChatModel(responses=["What was said."]), trigger=amount, keep=amount
    )


def _cut_off(keep: Counts, history: History, size: Window) -> Call:
    return partial(_summarization(keep, size)._determine_cutoff_index, history)


def _before_summary(keep: Counts, history: History, size: Window) -> Call:
    """Do all that `before_model` does, up to asking for the summary."""
    middleware = _summarization(keep, size)

    def before_model() -> object:
        middleware._ensure_message_ids(history)
        tokens = middleware.token_counter(history)
        if not middleware._should_summarize(history, tokens):
            return history
        cut_off = middleware._determine_cutoff_index(history)
        return middleware._partition_messages(history, cut_off)

    return before_model


def _langmem(history: History, size: Window) -> Call:
    with warnings.catch_warnings():
        # It is built on names that LangGraph has deprecated.
        warnings.simplefilter("ignore")
        from langmem.short_term import summarization  # noqa: PLC0415 - warns when imported

    return partial(
        summarization._preprocess_messages,
        messages=history,
        running_summary=None,
        max_tokens=size.tokens,
        max_tokens_before_summary=None,
        max_summary_tokens=min(256, size.tokens // 2),
        token_counter=count_tokens_approximately,
    )


def _clear_tool_uses(history: History, size: Window) -> Call:
    from langchain.agents.middleware import ClearToolUsesEdit  # noqa: PLC0415 - slow to import

    edit = ClearToolUsesEdit(trigger=size.tokens, keep=max(1, size.messages // 4))

    def edited() -> History:
        # The middleware copies the history so deep before each edit.
        messages: list[Any] = copy.deepcopy(list(history))
        edit.apply(messages, count_tokens=count_tokens_approximately)
        return messages

    return edited


def _turn_window(history: History, size: Window) -> Call:
    from langchain_turn_window.windowing import window_by_human_turns  # noqa: PLC0415 - may be missing

    return partial(window_by_human_turns, history, size.turns)


def _agentstate(counts: Counts, history: History, size: Window) -> Call:
    from agentstate_reducer import MessageReducer, ReducerConfig  # noqa: PLC0415 - may be missing

    config = (
        ReducerConfig(min_messages=size.messages, max_messages=size.messages)
        if counts == "messages"
        else ReducerConfig(max_tokens=size.tokens, token_counter=_one)
    )
    return partial(MessageReducer(config=config).reduce, history)


CORE, AGENTS = "langchain-core", "langchain"
CUT_OFF = "`SummarizationMiddleware`, its cut-off alone: an index"
BEFORE = "`SummarizationMiddleware`, all before the summary"
BY_LENGTH = "`trim_messages`, `token_counter=len`"
STATE = "agentstate-reducer"
THEIRS = (
    Rival(BY_LENGTH, "messages", CORE, partial(_trim_messages, len)),
    Rival(CUT_OFF, "messages", AGENTS, partial(_cut_off, "messages")),
    Rival(BEFORE, "messages", AGENTS, partial(_before_summary, "messages")),
    Rival(f"`{STATE}`", "messages", STATE, partial(_agentstate, "messages")),
    Rival("`langchain-turn-window`", "turns", "langchain-turn-window", _turn_window),
    Rival("`trim_messages`, approximate", "tokens", CORE, partial(_trim_messages, "approximate")),
    Rival(CUT_OFF, "tokens", AGENTS, partial(_cut_off, "tokens")),
    Rival("langmem, its preprocessing", "tokens", "langmem", _langmem),
    Rival("`ClearToolUsesEdit` and its copy", "tokens", AGENTS, _clear_tool_uses),
    Rival(f"`{STATE}`", "tokens", STATE, partial(_agentstate, "tokens")),
)


def present() -> list[Rival]:
    """List what can be measured here, by what is counted, this package first."""
    every = [*OURS, *(rival for rival in THEIRS if installed(rival.package))]
    return sorted(every, key=lambda rival: ORDER.index(rival.counts))


def missing() -> Sequence[str]:
    """Name the packages that are not installed, and so not measured."""
    return sorted({rival.package for rival in THEIRS if not installed(rival.package)})
