"""The demo's agent."""

import pytest

from scripts import demo_agent


def test_demo(capsys: pytest.CaptureFixture[str]) -> None:
    """After a hundred turns and two restarts, the follow-up is answered from a bounded database."""
    demo_agent.main()
    shown = capsys.readouterr().out
    assert " 101  you    and the second one?" in shown
    assert "agent  333 m" in shown
    assert "The database holds 6 messages, 204 left it" in shown
