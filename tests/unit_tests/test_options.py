"""The options: what is refused when an object is built, and with which words."""

import typing
from typing import Any

import pytest
from pydantic import ValidationError

from langchain_mentor_reducer import MentorChatReducer, reduce_messages
from langchain_mentor_reducer.options import Options, ReducerOptions
from tests.unit_tests.corners import ask, letters, letters_of

COUNTS = ["max_messages", "max_turns", "max_tokens"]


@pytest.mark.parametrize("option", COUNTS)
@pytest.mark.parametrize("value", [0, -1, True, False, 50.0, "50", [50]], ids=repr)
def test_count(option: str, value: Any) -> None:
    """A budget is a whole number of at least 1, and the error names option and fix."""
    options = {"max_messages": 9, option: value}
    with pytest.raises(ValidationError, match=rf"(?s){option}.*whole number of at least 1"):
        MentorChatReducer(**options)


@pytest.mark.parametrize("options", [{}, dict.fromkeys(COUNTS)], ids=["left out", "None"])
def test_no_budget(options: dict[str, Any]) -> None:
    """Without any budget there is nothing to do, and the error names the three."""
    with pytest.raises(ValueError, match="set max_messages, max_turns or max_tokens"):
        reduce_messages(**options)


@pytest.mark.parametrize("option", COUNTS)
def test_one_budget_will_do(option: str) -> None:
    """Any one budget may stand alone."""
    options: Any = {option: 99}
    assert reduce_messages([ask()], **options) == [ask()]


@pytest.mark.parametrize(
    ("misspelt", "hint"),
    [("max_mesages", "did you mean max_messages?"), ("n", "it takes max_messages, max_turns")],
)
def test_misspelt(misspelt: str, hint: str) -> None:
    """An option that is not known is refused, with the nearest one that is."""
    options: Any = {"max_messages": 9, misspelt: 3}
    with pytest.raises(ValueError, match=f"has no option '{misspelt}'") as caught:
        MentorChatReducer(**options)
    assert hint in str(caught.value)


@pytest.mark.parametrize("value", [0, -0.5, 1.1, True, "0.6", None, float("nan")], ids=repr)
def test_share(value: Any) -> None:
    """`trim_to` is a share, over 0 and at most 1."""
    with pytest.raises(ValidationError, match=r"(?s)trim_to.*a share of the budget"):
        MentorChatReducer(9, trim_to=value)


@pytest.mark.parametrize(
    ("option", "value"),
    [("overflow", "drop"), ("overflow", True), ("starts_turn", "user"), ("token_counter", "exact")],
)
def test_other_options(option: str, value: Any) -> None:
    """The other options are checked as well, and named."""
    options: Any = {"max_messages": 9, option: value}
    with pytest.raises(ValidationError, match=option):
        MentorChatReducer(**options)


def test_share_of_tokens_needs_a_counter_of_one() -> None:
    """`trim_to` with `max_tokens` counts each message once, which a list counter cannot."""
    with pytest.raises(ValueError, match=r"counts message by message.*not letters"):
        MentorChatReducer(max_tokens=9, trim_to=0.5, token_counter=letters)
    MentorChatReducer(max_tokens=9, trim_to=0.5, token_counter=letters_of)
    MentorChatReducer(max_tokens=9, trim_to=1, token_counter=letters)
    MentorChatReducer(9, trim_to=0.5, token_counter=letters)


def test_frozen() -> None:
    """An option is not changed behind the checks."""
    with pytest.raises(ValidationError, match="frozen"):
        MentorChatReducer(9).max_messages = 0


def test_only_max_messages_is_positional() -> None:
    """All else is by keyword."""
    options: Any = (9, 3)
    with pytest.raises(TypeError, match="positional"):
        MentorChatReducer(*options)


def test_keywords_are_typed_as_the_fields() -> None:
    """Each option is typed alike where it is passed and where it is held, and described."""
    keywords = typing.get_type_hints(Options)
    fields = ReducerOptions.model_fields
    assert {*keywords, "max_messages"} == fields.keys()
    assert all(field.description for field in fields.values())
    for name in keywords.keys() - {"token_counter"}:
        assert keywords[name] == fields[name].annotation, name
