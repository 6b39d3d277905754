"""Histories that are known to be bad or good, and who says so.

A validator that cannot refuse proves nothing.

Each row is a shape (`shapes.py`) and one mark for each of `VALIDATORS`, in their order: `x`
refused, `.` accepted. The marks are exact, so the table shows what each of them overlooks too.
Much of what looks lenient is the converter's doing: Gemini's puts results behind their call and
drops those without one, Anthropic's joins neighbors.
"""

from typing import NamedTuple

from langchain_core.messages import BaseMessage

from tests.acceptance import shapes
from tests.acceptance.shapes import GOOD
from tests.acceptance.validators import VALIDATORS

# Mistral v3, v13, template | gpt-oss, Qwen, Ministral | turnsafe OpenAI, Anthropic | toolrepair
# OpenAI, Anthropic | Cohere, LangGraph || own reading: OpenAI Chat, Responses, Anthropic, Gemini,
# Bedrock, Mistral, Perplexity.
BAD = """
a result first                      | T<1 A U                 | ..xx.x xxxx .. xxx.xxx
a result behind the system message  | S T<1 A U               | xxxx.x xxxx .. xxx.xxx
a result whose call was cut         | S U T<1 A U             | xxxx.. xxxx .. xxx.xx.
one call of a parallel pair cut     | S U A>1 T<1 T<2 A U     | xx.... xxxx .. xxx.xx.
a result of some other call         | S U A>1 T<2 A U         | .x.... xxxx .x xxxxx..
an unanswered call                  | S U A>1 U               | xx...x xxxx .x xxxxxx.
one of two calls unanswered         | S U A>1,2 T<1 U         | xx...x xxxx .x xxxxxx.
an open call at the end             | S U A>1                 | xx.... xxxx .x xxxxxx.
a result before its call            | S U T<1 A>1 U           | xxxx.x xxxx .. x.x.xx.
a result behind the next question   | S U A>1 U T<1           | xxx..x xxxx .. x.x..x.
a result behind the next answer     | S U A>1 A T<1           | xx.x.. x.xx .. x....x.
a result twice                      | S U A>1 T<1 T<1 A U     | xx.... xxxx .. .....x.
a system message in a loop          | S U A>1 T<1 S A U       | xxx.xx .x.x .. ..x..xx
a system message further down       | S U A S U               | xxx.xx .x.x .. ..x..xx
no question, a call                 | S A>1 T<1               | ....x. .... .. ...xx.x
question cut before its call        | S A>1 T<1 A U           | .....x .... .. ...xx.x
question cut before its answer      | S A U                   | .....x .... .. ....x.x
two answers in a row                | S U A A U               | .....x .... .. .......
no user, no call                    | S                       | ....x. .... .. ..xx..x
nothing                             |                         | xxxxxx .... .. xxxx.xx
the answer last                     | S U A                   | xx.... .... .. ....xx.
no id                               | S U A> T< A U           | xx.... xx.. x. .......
an id twice in a message            | S U A>1,1 T<1 A U       | xx.... xx.. x. ...x.x.
an id again in another turn         | U A>1 T<1 A U A>1 T<1   | ...... .x.. x. .......
a blank question                    | S U0 A U                | ...... .x.. .. ..x....
"""


class Case(NamedTuple):
    """A known history and who refuses it."""

    name: str
    shape: str
    refused_by: frozenset[str]

    @property
    def messages(self) -> list[BaseMessage]:
        """The history."""
        return shapes.messages(self.shape)


def _case(row: str) -> Case:
    name, shape, marks = (cell.strip() for cell in row.split("|"))
    said = zip(VALIDATORS, marks.replace(" ", ""), strict=True)
    return Case(name, shape, frozenset(v.name for v, mark in said if mark == "x"))


CASES = [Case(name, shape, frozenset()) for name, shape in GOOD.items()] + [
    _case(row) for row in BAD.strip().splitlines()
]
