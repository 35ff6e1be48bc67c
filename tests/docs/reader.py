"""A reader who types the commands of a page, one after the other, in a folder of their own."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from dataenvgym.cli.main import main
from tests.docs.shortening import Here, shortened, words_of

_HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "reader", "version": "1"},
    },
}


class Reader:
    """Runs commands, short, and knows what earlier ones left behind.

    Args:
        folder: where the page is read, which is the current folder.
        run: a run of three iterations with a teacher, for a page that made none like it.
    """

    def __init__(self, folder: Path, here: Here, run: Path) -> None:
        self._folder = folder
        self._here = here
        self._run = run
        self._open = ExitStack()
        self._url = ""

    def type(self, line: str, *, with_programs: bool = False) -> int:
        """Run the command of a page; its exit code."""
        program, *words = words_of(self._with_what_is_there(line))
        if program == "cd":
            os.chdir(words[0])
            sys.path.insert(0, str(Path.cwd()))  # as a new process has it
            return 0
        if program == "python":
            return subprocess.run([sys.executable, *words], check=False).returncode
        if words[0] == "serve-world":
            return self._serve(words)
        if words[0] == "serve-adaptation":
            with _served_over_http([*words, "--port", "0"]):
                return 0
        return main(shortened(words, self._here, with_programs=with_programs))

    def leave(self) -> None:
        """End the servers that were started."""
        self._open.close()

    def _with_what_is_there(self, line: str) -> str:
        runs = self._runs(line)
        line = re.sub(r"\bRUN\b", lambda _: str(next(runs)), line)
        if "runs/EARLIER" in line:
            earlier = max(self._folder.glob("runs/*/skills.json"), key=_age).parent
            line = line.replace("runs/EARLIER", str(earlier))
        if line.startswith("dataenvgym rescore"):
            evaluation = str(self._evaluation(line))
            line = re.sub(r"rescore (evaluations/)?NAME", f"rescore {evaluation}", line)
        if "task.mcp.url=" in line:
            line = re.sub(r"task\.mcp\.url=\S+", f"task.mcp.url={self._server()}", line)
        if "task=mcp" in line:  # whose problems cannot look at the state
            line = line.replace("problems.jsonl", "calls.jsonl")
        if "--adapter" in line:  # the best student may be the untouched one
            line = f"{line} --iteration 1"
        command = "[dataenvgym, serve-world, my_module.MyWorld]"
        return line.replace("[npx, -y, some-server]", command)

    def _runs(self, line: str) -> Iterator[Path]:
        """The runs that the command can be about, the newest first."""
        made = (path.parent for path in self._folder.rglob("summary.json"))
        wanted = re.search(r"--iteration (\d+)", line)
        for run in (*sorted(made, key=_age, reverse=True), self._run):
            iterations = json.loads((run / "summary.json").read_text())["iterations"]
            if wanted and len(iterations) <= int(wanted[1]):
                continue
            if "--calls" in line and not (run / "teacher").exists():
                continue
            if "--adapter" in line and not any(run.glob("iterations/*/adapter")):
                continue
            yield run

    def _evaluation(self, line: str) -> Path:
        """The newest evaluation with the samples and the speakers that the command names."""
        k = max(map(int, re.findall(r"pass@(\d+)", line)), default=1)
        speakers = [f"    {who}:" for who in re.findall(r"task\.others\.(\w+)\.", line)]
        made = self._folder.glob("evaluations/*/config.yaml")
        fit = [
            path
            for path in made
            if _samples(path) >= k and all(who in path.read_text() for who in speakers)
        ]
        return max(fit, key=_age).parent

    def _serve(self, words: list[str]) -> int:
        """Start the server and ask it something; over HTTP, only wait until it is there."""
        if "http" in words:
            with _served_over_http(words):
                return 0
        said = subprocess.run(
            ["dataenvgym", *words],
            input=f"{json.dumps(_HELLO)}\n",
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return said.returncode if "serverInfo" in said.stdout else 1

    def _server(self) -> str:
        """The URL of the reader's world, served until they leave."""
        if not self._url:
            words = ["serve-world", "my_module.MyWorld", "--transport", "http", "--port", "0"]
            self._url = self._open.enter_context(_served_over_http(words))
        return self._url


@contextmanager
def _served_over_http(words: list[str]) -> Iterator[str]:
    """The URL that a server says, at a free port."""
    words = [*words[: words.index("--port") + 1], "0"]
    with subprocess.Popen(["dataenvgym", *words], stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            (url,) = re.findall(r" is at (\S+) \(", process.stderr.readline())
            yield url
        finally:
            process.terminate()


def _age(path: Path) -> float:
    return path.stat().st_mtime


def _samples(config: Path) -> int:
    found: Any = re.search(r"^samples: (\d+)", config.read_text(), re.MULTILINE)
    return int(found[1])
