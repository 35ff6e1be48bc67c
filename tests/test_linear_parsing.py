"""No text of a student, a teacher, a user or a judge takes long to read.

Every parser of `text_parsers` reads long texts of a repeated unit, behind a beginning and before an
end that careless patterns stumble over. Processor time is measured, which the load of the machine
leaves alone.
"""

import random
import re
import sys
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest
from pydantic import ValidationError

import dataenvgym
from dataenvgym.errors import DataEnvGymError
from dataenvgym.tasks.scoring.code.extraction import LONGEST_CODE, extract_code
from tests.text_parsers import PARSERS, Parser

SIZE, SECONDS = 200_000, 1.0
_WRITTEN = r'''
    a ␠ ␤ 0 1 " ' ` \ { } [ ] ( ) < > $ * _ # : = - + ^ / % | ~ , ; . & ! ? @ é ␠␠␠␠␤ ␠␤ a␤ ␤␤
    ```␤ ```json ```python␤ ~~~␤ ␠␠␠␠```␤ x```␤ """␤ ```md␤ <think> <think>␤ </think>
    ␤</think>␤ </think>␠ <think></think>␤ >>>␠ >>>␠x␤ ...␠x␤ >>>␠f(1)␤1␤ >␠ >␠x␤ >>␠ </s> </s>␠
    <s> <|a|> <|a <|im_start|> <|im_start|>␠ <|im_end|> [/INST] def␠f(x):␤ def␠f(x class␠A:␤
    async␠ @a␤ import␠x␤ for␠x␠in␠y:␤ assert␠f(1)␠==␠2␤ assert␠(␤ x␠=␠(␤ x␠=␠1␤ x:␠int␤ x␠y␤ x=
    x=␤ x+ 1, 1e9 f(f␠ f(x)␤ f( lambda␠x:␠ lambda: if␠x:␤ #␠x␤ not␠ ~␠ -␠ await␠ yield␠ *a,
    x␠if␠ x. x[ x: {x: f'{ \␤ 1␠ \boxed{ \boxed␠ \boxed{1} \fbox ####␠ ####␤ \( \[ $$ \text{
    answer answer␠ answer␠is␠ answer␠to␠ answer␠to␠.␠ the␠final␠answer␠is␠ final␠ \frac{1}{2}
    \frac 1,000 1. .5 1/2 ^{ <answer> </answer> ␠is␠ ␠and␠ <tool_call> </tool_call> <tool_call>{
    [TOOL_CALLS] [TOOL_CALLS][{ [TOOL_CALLS]f{ f[ARGS]{ <|python_tag|> Action: Action:␠f␤
    Action␠Input:␠ Action:␠f␤Action␠Input:␠{}␤ ##f␠a␠ ## ##f␠a␠1␤ {"name":
    {"name":␠"f",␠"arguments":␠{ [{"name" {"a":␠1} [], {"name":␠"f",␠"arguments":␠{}}
    <tool_call>{"name":␠"f",␠"arguments":␠{}}</tool_call>␤ {} "a", {"a": null, true
    {"records":␠[ "\ \u <node-1> <node- "id": my␠ for␠your␠ my␠a␠for␠your␠b deal␠ deal␤ ok,␠
    accept␠ i␠ n't␠ € €␠ [action]␠ [speak␠to␠ [speak␠to␠a; [leave] [none] offer␠1␠ Strategy:␠
    word␠ assistant: user: User:␠ Call:␠{}␤ Jan␠ jan␠5 2026-01- 9:30␠ am␠ kg␠ http:// a:// a@
    :a@ ://a@ ?key= &key=a http://a:b@c?key=d␠ a_ key
'''
UNITS = [unit.replace("␠", " ").replace("␤", "\n") for unit in _WRITTEN.split()]
UNITS += ["\t", "\r", "\x00", "\u2028", "\u200b", "\ufeff", "'''"]
BEGINNINGS = ("", "x", "answer to ", "answer is ", "```", "```python\n", "<think>\n", "{", "[", " ")
ENDS = ("", "x", "}", "```", "\n", ".", '"', "</think>", "</tool_call>", "\n</think>\n\n", "<s>")
EXAMPLES = (
    *("#### 5", "the answer is 5.", "[speak to a] hi", "http://a:b@c?key=d", "```\nx=1\n```"),
    *("50 euros", "<answer>1e99999</answer>", "7 8 9", "1/2", "$5$", "<node-0>.b", "a" * 20_000),
    '<tool_call>\n{"name": "f", "arguments": {"a": "' + "a" * 10_000 + '"}}\n</tool_call>',
)
KNOWN = {
    "final answer": ["The answer to" + " " * 200_000 + "x"],
    "program": [" " + "x=" * 20_000 + "x", "~" * 200_000 + "```"],
    "plan in code": [" " + "x=" * 20_000 + "x"],
    "earlier reply": ["<think>\n" * 25_000, "\n</think>\n\n" + "<think>\n" * 25_000],
    "calls in a dataset": ["</tool_call>" + "<tool_call>" * 20_000, "1" * 8000, "[" * 100_000],
    "calls in format mistral": [
        "##f a " * 33_000 + "\n</think>\n\n",
        '##f \\" ' * 28_000 + "</think>",
    ],
    "malformed calls": ["{" + "#" * 200_000 + "\n</think>\n\n"],
    "secrets": ["a" * 200_000, "a_" * 100_000],
    "records of code": ["a" * 200_000],
    "records of math": ["9" * 8000],
    "scenes": ["a" + "\n" * 3_990 + "b"],
    "pocket scenes": ["a" + "\n" * 3_990 + "b", "my " * 1_300],
}
"""Texts that took minutes once, or raised an error of Python."""
PACKAGE = Path(dataenvgym.__file__).parent
NOT_OF_MODELS = (
    *("cli.", "runs.config.", "options.", "storage.", "teachers.prompts."),
    *("records.store.", "records.checksums."),
    *("students.llama_factory.dataset.", "students.llama_factory.reading."),
    *("students.predictors.vllm.own_server.", "tasks.worlds.schemas."),
    *("domains.tool_use.calls.api_bank.", "domains.tool_use.calls.bfcl."),
    "domains.social.sotopia_dump.",
    *("tasks.operand_family.", "domains.tool_use.audit.", "domains.textworld.games."),
)
"""Modules with patterns for other texts: the user's, files of data sets, our own templates."""


def seconds(parser: Parser, text: str) -> float:
    """The time to read the text. Only errors of the package and of its models are raised."""
    begin = time.process_time()
    with suppress(DataEnvGymError, ValidationError):
        parser(text)
    return time.process_time() - begin


def of(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def check(parser: str, text: str) -> None:
    took = [seconds(PARSERS[parser], text)]
    while took[-1] >= SECONDS and len(took) < 3:  # the first time also loads what it needs
        took.append(seconds(PARSERS[parser], text))
    assert min(took) < SECONDS, f"{len(text)} characters, {text[:40]!r}...{text[-20:]!r}"


@pytest.mark.parametrize("parser", KNOWN)
def test_a_text_that_was_slow_once_is_read_in_time(parser):
    for text in KNOWN[parser]:
        check(parser, text)


@pytest.mark.parametrize("parser", PARSERS)
def test_reading_twice_as_much_takes_twice_as_long(parser):
    rng = random.Random(parser)
    for unit in rng.sample(UNITS, 10):
        begin, end = rng.choice(BEGINNINGS), rng.choice(ENDS)
        short, long = (begin + of(unit, size) + end for size in (6_000, 12_000))
        took = seconds(PARSERS[parser], short)
        if took > 0.002 and seconds(PARSERS[parser], long) > 3 * took:
            check(parser, begin + of(unit, SIZE) + end)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("parser", PARSERS)
def test_any_long_text_is_read_within_a_second(parser):
    rng = random.Random(parser)
    mixtures = ["".join(rng.sample(UNITS, 2)) for _ in range(40)]
    for unit in [*rng.sample(UNITS, 60), *mixtures]:
        size = rng.choice((SIZE, SIZE, LONGEST_CODE - 5_000))
        begin, end = rng.choice(BEGINNINGS), rng.choice(ENDS)
        # in so little time for a quarter, even the square of it is in time
        if seconds(PARSERS[parser], begin + of(unit, size // 4) + end) >= SECONDS / 16:
            check(parser, begin + of(unit, size) + end)


class Counted:
    """A pattern that notes that it was used; equal patterns of several modules are one object."""

    def __init__(self, pattern: re.Pattern[str], names: set[str], used: set[str]) -> None:
        self._pattern, self._names, self._used = pattern, names, used

    def __getattr__(self, attribute: str) -> object:
        self._used |= self._names
        return getattr(self._pattern, attribute)


@pytest.mark.slow
def test_every_module_with_patterns_is_reached_by_a_parser_of_the_list(monkeypatch):
    """A new module with patterns needs a parser in `PARSERS`, or a name in `NOT_OF_MODELS`."""
    used: set[str] = set()
    modules = {}
    for file in PACKAGE.rglob("*.py"):
        name = ".".join(file.relative_to(PACKAGE).with_suffix("").parts)
        has_patterns = re.search(r"^\w.* = re\.compile\(", file.read_text(), re.MULTILINE)
        if has_patterns and not f"{name}.".startswith(NOT_OF_MODELS):
            modules[name] = sys.modules.get(f"dataenvgym.{name}")
    counted: dict[int, object] = {}
    owners: defaultdict[int, set[str]] = defaultdict(set)
    for name, module in modules.items():
        for value in vars(module).values() if module else ():
            pattern = value[0] if isinstance(value, tuple) and value else value
            if isinstance(pattern, re.Pattern):
                owners[id(pattern)].add(name)
                new = Counted(pattern, owners[id(pattern)], used)
                counted[id(value)] = (new, *value[1:]) if isinstance(value, tuple) else new
    for name, module in list(sys.modules.items()):
        for variable, value in list(vars(module).items()) if name.startswith("dataenvgym.") else ():
            if id(value) in counted:
                monkeypatch.setattr(module, variable, counted[id(value)])
    for text in (*EXAMPLES, *(of(unit, 200) for unit in UNITS)):
        for parser in PARSERS.values() if {*modules} - used else ():
            with suppress(Exception):
                parser(text)
    assert {*modules} - used == set()


def test_functions_in_many_fences_that_need_each_other_are_joined_in_time():
    fences = "".join(f"```python\ndef f{n}(x):\n    return f{n - 1}(x)\n```\n" for n in range(1000))
    begin = time.process_time()
    assert extract_code(fences, "f999").count("def ") == 1000
    assert time.process_time() - begin < 5
