"""No reply takes long to parse: 100 KB of text that makes careless patterns quadratic.

Such a pattern takes half a minute here and more, and a linear one half a second at most.
Processor time is measured, which the load of the machine leaves alone.
"""

import time

import pytest

from dataenvgym.scoring import extract_final_answer
from dataenvgym.tasks.code.extraction import extract_code
from dataenvgym.tasks.code.reading import problem_in
from dataenvgym.tasks.math.reasoning_gym import _answer_in

SIZE = 100_000
SECONDS = 4
PARSERS = {
    "code": lambda text: extract_code(text, "f", starter="def f(x):\n    '''One.'''\n"),
    "code in a fence": lambda text: extract_code(
        f"```python\ndef f(x):\n  return )\n{text}\n```", "f"
    ),
    "code left open": lambda text: extract_code(
        f"So:\n```python\ndef g(x):\n  return (\n{text}", "f"
    ),
    "method": lambda text: extract_code(f"class A\n{text}", "A.f"),
    "program": extract_code,
    "question": problem_in,
    "final answer": extract_final_answer,
    "what the answer is": lambda text: extract_final_answer(f"The answer is {text}"),
    "box": lambda text: extract_final_answer(f"\\boxed{{{text}}}"),
    "tag": lambda text: _answer_in(f"<answer>{text}"),
}
UNITS = [
    *("\n", " ", "\t", "    \n", "\r", " \n", "\\", "\\\n", "\x00", "\ud800", "\u2028"),
    *("```\n", "```python\n", "`", "~~~\n", "    ```\n", "x```\n", "'''", '"""\n', "```md\n"),
    *("<think>", "<think>\n", "</think>", "</think>\n", "</think> ", "<think></think>\n"),
    *(">>> ", ">>> x\n", "... x\n", ">>> f(1)\n1\n", "> ", "> x\n", ">", ">> "),
    *("</s>", "</s> ", "<s>", "<|a|>", "<|a", "<|im_start|>", "<|im_start|> ", "<|im_end|>", "["),
    *("\ufeff", "\u200b", "def f(x):\n", "def f(x", "class ", "async ", "@a\n", "import x\n"),
    *("assert f(1) == 2\n", "assert (\n", "assert (", "x = (\n", "x = 1\n", "x: int\n", "x y\n"),
    *("(", "{", "-", "x+", "1", "1,", "1e9", "f(f ", "lambda x: ", "if x:\n", "# x\n", "word "),
    *("\\boxed{", "\\boxed ", "\\boxed{1}", "#", "#### ", "####\n", "answer ", "answer is ", "*"),
    *("answer to ", "answer to . ", "the final answer is ", "final ", "$", "\\(", "<answer>"),
]
USUAL = ["\n", "    \n", "</think>", "</s> ", "<answer>"]


def seconds(parser, unit):
    text = (unit * (SIZE // len(unit) + 1))[:SIZE]
    begin = time.process_time()
    PARSERS[parser](text)
    return time.process_time() - begin


@pytest.mark.parametrize("parser", PARSERS)
def test_a_long_reply_of_one_kind_is_parsed_in_time(parser):
    for unit in USUAL:
        assert seconds(parser, unit) < SECONDS, repr(unit)


@pytest.mark.slow
@pytest.mark.parametrize("parser", [p for p in PARSERS if p not in ("code in a fence", "method")])
def test_a_long_reply_of_any_kind_is_parsed_in_time(parser):
    for unit in UNITS:
        assert seconds(parser, unit) < SECONDS, repr(unit)


def test_functions_in_many_fences_that_need_each_other_are_joined_in_time():
    fences = "".join(f"```python\ndef f{n}(x):\n    return f{n - 1}(x)\n```\n" for n in range(1000))
    begin = time.process_time()
    assert extract_code(fences, "f999").count("def ") == 1000
    assert time.process_time() - begin < 15
