"""An agent in a SQLite database that answers a follow-up question after a hundred turns.

The language model is scripted: it answers from what it sees, and says so when it sees too little.
All else is real. Run it with `make demo`.
"""

import tempfile
from pathlib import Path
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite import SqliteSaver

from langchain_mentor_reducer import MentorChatReducerMiddleware
from tests.scripted import FIRST, GUIDE_TOOLS, SECOND, ScriptedModel, guide

BUDGET = 6
TURNS = 100
THREAD: Any = {"configurable": {"thread_id": "demo"}}


def say(turn: int, messages: list[BaseMessage]) -> None:
    """Print what was said since the newest question."""
    newest = max(i for i, m in enumerate(messages) if isinstance(m, HumanMessage))
    for message in messages[newest:]:
        if isinstance(message, HumanMessage):
            print(f"{turn:4}  you    {message.text}")
        elif isinstance(message, ToolMessage):
            print(f"      tool   {message.name}: {message.text}")
        elif isinstance(message, AIMessage) and message.text:
            print(f"      agent  {message.text}")


def main() -> None:
    """Talk to the agent, restart it, and ask the follow-up question."""
    print(f"\nAn agent in SQLite, MentorChatReducerMiddleware({BUDGET}, persist=True):\n")
    model = ScriptedModel(script=guide)
    gone: list[BaseMessage] = []
    ours = MentorChatReducerMiddleware(
        BUDGET, persist=True, on_drop=lambda dropped, _: gone.extend(dropped)
    )
    with tempfile.TemporaryDirectory() as home:
        database = str(Path(home) / "threads.sqlite")
        # The database is opened anew for each run of questions, as after a restart.
        for first, questions in (
            (1, [f"Remark {turn}." for turn in range(1, TURNS)]),
            (TURNS, [FIRST]),
            (TURNS + 1, [SECOND]),
        ):
            with SqliteSaver.from_conn_string(database) as saver:
                agent: Any = create_agent(model, GUIDE_TOOLS, middleware=[ours], checkpointer=saver)
                for turn, question in enumerate(questions, first):
                    asked = {"messages": [HumanMessage(question)]}
                    messages: list[BaseMessage] = agent.invoke(asked, THREAD)["messages"]
                    if turn in {1, 2} or turn >= TURNS - 1:
                        say(turn, messages)
                    elif turn == TURNS // 2:
                        print(" ...")
    print(
        f"\nThe database holds {len(messages)} messages, {len(gone)} left it; "
        f"the model saw at most {max(map(len, model.windows))} at once."
    )


if __name__ == "__main__":
    main()
