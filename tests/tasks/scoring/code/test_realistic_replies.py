"""Replies in the forms in which known models write them; the code of each is f(x) = x + 1."""

import textwrap
from contextlib import suppress

import pytest

from dataenvgym.tasks.scoring.code.extraction import extract_code

GOOD = "def f(x):\n    return x + 1\n"
BAD = "def f(x):\n    return x\n"
SIGNATURE = "def f(x):\n"
PASSES = "def f(x):\n    pass\n"


def fenced(code, info="python", marks="```"):
    return f"{marks}{info}\n{code}{marks}\n"


SESSION = ">>> def f(x):\n...     return x + 1\n...\n>>> f(1)\n2\n"
USAGE = fenced("print(f(1))\n")
REPLIES = {
    # chat models: words, the code, more words
    "qwen": f"To solve this, add one to `x`.\n\n{fenced(GOOD)}\n### Explanation:\n1. **`x + 1`**: "
    "adds one.\n\n```\nInput: 1\nOutput: 2\n```\n",
    "qwen, usage": f"{fenced(GOOD)}\n# Example usage:\n{USAGE}\nOutput:\n```\n2\n```",
    "qwen, unfenced, comments": f"# Here is the solution\n{GOOD}\n# Test\nassert f(1) == 2\n",
    "llama, unfenced": f"Here's the function:\n\n{GOOD}\nThis function takes `x` and adds one.\n"
    "You can call it:\n\nprint(f(1))\n",
    "gpt, unit tests": f"{fenced(GOOD)}\nTests:\n"
    + fenced("import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        f(1)\n"),
    "gpt, all of it in markdown": f"````markdown\n# Answer\n{fenced(GOOD)}Done.\n````",
    # the head again, or a part of it
    "head behind": f"{fenced(GOOD)}The signature\n{fenced(SIGNATURE)}is kept.",
    "head behind, in a sentence": f"{fenced(GOOD)}As\n```python\n{SIGNATURE}``` is given, so",
    "stub behind": f"{fenced(GOOD)}Signature:\n{fenced('def f(x): ...' + chr(10))}",
    "stub before, then open": f"{fenced(PASSES)}So:\n```python\n{GOOD}",
    # thinking
    "draft": f"<think>\n{fenced(BAD)}No.\n</think>\n{fenced(GOOD)}",
    "draft, then unfenced": f"<think>\n{fenced(BAD)}</think>\n\n{GOOD}",
    "draft left open": f"<think>\nMaybe\n```python\n{BAD}hm, no.\n</think>\n\n{fenced(GOOD)}Done.",
    "draft without the first tag": f"So x.\n{fenced(BAD)}no: x + 1.</think>\n{fenced(GOOD)}",
    "form left open": f"<think>\n```python\n# YOUR CODE\n\nOK.\n</think>\n{fenced(GOOD)}",
    "other tags": f"<reasoning>\n{fenced(BAD)}</reasoning>\n<answer>\n{GOOD}</answer>\n",
    # sessions and quotations
    "session": f"So:\n\n{SESSION}",
    "session in a fence": f"So:\n{fenced(SESSION, info='pycon')}That is it.",
    "session in a list": f"1. So:\n\n{textwrap.indent(SESSION, '   ')}",
    "session in a quotation": textwrap.indent(SESSION, "> "),
    "quotation": textwrap.indent(f"So:\n\n{fenced(GOOD)}\nDone.\n", "> ", lambda line: True),
    # the end of the turn, and the text after it
    "end of the turn": f"{fenced(GOOD)}<|im_end|>\n<|im_start|>user\nNo:\n{fenced(BAD)}",
    "end of the turn, at once": f"{fenced(GOOD).rstrip()}<|eot_id|>{fenced(BAD)}",
    "an end before the answer": f"<|im_end|>\n<|im_start|>assistant\n{fenced(GOOD)}",
    # invisible characters
    "byte-order mark": f"\ufeff{fenced(GOOD)}It adds one.",
    "byte-order mark, unfenced": f"\ufeff{GOOD}",
    "byte-order mark in the fence": fenced(f"\ufeff{GOOD}"),
    # base models: MBPP's form, and words that are Python
    "[DONE]": f"{GOOD}[DONE]\n",
    "[BEGIN], [DONE]": f"[BEGIN]\n{GOOD}[DONE]\n",
    "[PYTHON]": f"[PYTHON]\n{GOOD}[/PYTHON]\n",
    "[DONE] in the fence": fenced(f"{GOOD}[DONE]\n"),
    "[BEGIN] around the fence": f"[BEGIN]\n{fenced(GOOD)}[DONE]\n",
    "python": f"python\n{GOOD}",
    "words that are an annotation": f"{GOOD}\nComplexity: constant\n",
    # fences
    "two complete, one open": f"{fenced(BAD)}{fenced(GOOD)}and\n```python\ndef f(x):\n    ret",
    "stray opening": f"```\nSome text\n\n{fenced(GOOD)}",
    "marks in a sentence": f"Use ``` python fences.\n{fenced(GOOD)}",
    "quotes in a sentence": 'Use """ here:\n' + textwrap.indent(fenced(GOOD), "  "),
    "attributes": fenced(GOOD, info='python title="a.py"'),
    "braces": fenced(GOOD, info="{.python .numberLines}"),
    "tildes with a language": fenced(GOOD, info="python", marks="~~~"),
    "in a list": "1. So:\n\n" + textwrap.indent(fenced(GOOD), "   "),
    "closed behind the code, at once": f"```python\n{GOOD.rstrip()}```",
    # no fence, or fences around something else
    "usage fenced, the code not": f"{GOOD}\nUsage:\n{USAGE}",
    "indented block": "So:\n\n" + textwrap.indent(GOOD, "    ") + "\nThis adds one.",
    "in marks of strings": f"'''python\n{GOOD}'''",
}

MARKS = """def f(x):
    text = f"<|im_start|>user\\n{x}<|im_end|>\\n"
    html = '''
<s>
x</s>
'''
    return x + len(text) - len(text) + len(html) - len(html) + 1
"""
REPLIES["marks that end a turn, in strings"] = fenced(MARKS)


def test_the_right_piece_of_a_realistic_reply_is_taken():
    wrong = {}
    for name, reply in REPLIES.items():
        code, namespace = extract_code(reply, "f"), {}
        with suppress(Exception):
            exec(code, namespace)
            if namespace["f"](41) == 42:
                continue
        wrong[name] = code
    assert wrong == {}


@pytest.mark.parametrize("end", ["</think>\nAs above.", "</think>", "", "</think>\n<think>\nOr so"])
def test_code_in_a_thought_is_not_the_answer(end):
    assert extract_code(f"<think>\n{fenced(GOOD)}{end}", "f") is None
