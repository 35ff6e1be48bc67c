"""Runs Python code in the middle of an answer; its output is the next message to the student.

The field calls this tool-integrated reasoning. A reply that ends in code is answered by the output:

    student   First I count them. <code>
              sum(n % 7 == 0 for n in range(100))
    user      ```output
              15
              ```
    student   There are 15. #### 15

The end of the code, `</code>`, ends the student's reply (`SamplingParameters.stop`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from pydantic import Field, field_validator

from dataenvgym.records import Conversation, Model
from dataenvgym.records.model import Text
from dataenvgym.sandbox import ExecutionResult, Limits, Sandbox

_OUTPUT = "```output\n"
_ENDED = "The code was ended: "
_LAST = "\n\nNo more code is run: give the final answer now."
_SESSION = r"""
import ast, contextlib, io, json, random, sys, traceback

def run(code, space):
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "code", "exec"), space)
    if last is not None:
        shown = eval(compile(ast.Expression(last.value), "code", "eval"), space)
        if shown is not None:
            print(shown)

with open("blocks.json") as file:
    *earlier, code = json.load(file)
random.seed(0)
space = {"__name__": "__main__"}
for block in earlier:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(BaseException):
        run(block, space)
try:
    run(code, space)
except BaseException as error:
    trace = error.__traceback__.tb_next
    if trace is not None:
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace, file=sys.stdout)
"""


class CodeRuns(Model):
    """How code in an answer is run.

    All code of an answer shares its names, as in a notebook, and the value of its last expression
    is shown. To that end, earlier code of the answer is run again, without its output; code that
    was ended (for time or memory) is not.

    Attributes:
        calls: how often an answer may have code run; code after that is text.
        begin, end: the texts around code.
        output: the longest output that is put back, in characters.
        limits: of each run, which includes the earlier code of the answer.
    """

    calls: int = Field(default=8, ge=1, le=100)
    begin: Text = Field(default="<code>", min_length=1)
    end: Text = Field(default="</code>", min_length=1)
    output: int = Field(default=2000, ge=1)
    limits: Limits = Limits(seconds=10)

    @field_validator("end")
    @classmethod
    def _differs(cls, end: str, info: Any) -> str:
        if end == info.data.get("begin"):
            raise ValueError(f"begin and end are both {end!r}, expected two different texts")
        return end

    @property
    def told(self) -> str:
        """The part of the system message that explains code to the student."""
        return (
            f"You can run Python code: write it between {self.begin} and {self.end}, and its "
            "output comes back. Names stay defined, and the value of the last expression is "
            f"shown. You can do this {self.calls} times at most."
        )

    def code_of(self, reply: str) -> str | None:
        """The code at the end of a reply, or None if it ends in other text."""
        _, begin, code = reply.rpartition(self.begin)
        if not begin:
            return None
        code, _, after = code.partition(self.end)
        return None if after.strip() else _unfenced(code)

    def respond(self, conversation: Conversation, box: Sandbox) -> str | None:
        """The message with the output of the code that ends the last message of a conversation.

        None if there is no such code, or the answer has used all its calls.

        Raises:
            SandboxError: if the sandbox failed, not the code.
        """
        code = self.code_of(conversation[-1].content)
        earlier = self._outputs(conversation)
        if code is None or len(earlier) >= self.calls:
            return None
        kept = [block for block, output in earlier if _ENDED not in output]
        files = {"blocks.json": json.dumps([*kept, code])}
        said = self._output(box.run(_SESSION, files=files, limits=self.limits))
        last = _LAST if len(earlier) + 1 == self.calls else ""
        return f"{_OUTPUT}{said}\n```{last}"

    def _outputs(self, conversation: Conversation) -> Sequence[tuple[str, str]]:
        """The earlier code of an answer, each with the message that it got."""
        pairs = pairwise(conversation)
        return [
            (code, output.content)
            for reply, output in pairs
            if reply.role == "assistant" and output.content.startswith(_OUTPUT)
            if (code := self.code_of(reply.content)) is not None
        ]

    def _output(self, result: ExecutionResult) -> str:
        text = result.text.strip("\n")
        if (more := len(text) - self.output) > 0:
            text = f"{text[: self.output]}\n({more} more characters)"
        reasons = {
            "timeout": f"it took more than {self.limits.seconds:g} s",
            "out_of_memory": f"it needs more than {self.limits.memory // 2**20} MiB of memory",
            "output_limit": f"it wrote more than {self.limits.output} bytes",
            "killed": "it has too many processes, pipes, locks or mappings",
        }
        if reason := reasons.get(result.status):
            text = f"{text}\n{_ENDED}{reason}.".lstrip("\n")
        return text or "(no output)"


def _unfenced(code: str) -> str:
    """The code without the Markdown fence that models like to put around it."""
    lines = code.strip("\n").split("\n")
    if lines[0].strip().startswith("```"):
        lines = lines[1:]
        if lines and lines[-1].strip() == "```":
            lines = lines[:-1]
    return "\n".join(lines)
