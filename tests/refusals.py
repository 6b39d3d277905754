"""What OpenAI's chat completions refuse, as far as the order of messages goes."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage


def refusal(messages: Sequence[BaseMessage]) -> str | None:
    """Say why a provider would refuse the messages, or None.

    A tool message needs the call that it answers, in the model's message right before it or right
    before its siblings; and every call of that message is answered before anything else comes.
    """
    if not messages:
        return "no messages"
    waiting: set[str | None] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            if message.tool_call_id not in waiting:
                return f"the result of {message.tool_call_id} without its call"
            waiting.remove(message.tool_call_id)
        elif waiting:
            break
        elif isinstance(message, AIMessage):
            waiting = {call["id"] for call in message.tool_calls}
    return f"no result of {', '.join(sorted(map(str, waiting)))}" if waiting else None
