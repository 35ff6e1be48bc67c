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
    "llama": f"**Solution**\n================\n\n{fenced(GOOD)}\n**Time Complexity:** O(1)\n",
    "llama, no newline at the end": f"Here's the function:\n{fenced(GOOD).rstrip()}",
    "llama, unfenced": f"Here's the function:\n\n{GOOD}\nThis function takes `x` and adds one.\n"
    "You can call it:\n\nprint(f(1))\n",
    "gpt": f"Certainly! Below is the function.\n\n{fenced(GOOD)}\n- `x`: a number.\n\nYou can use "
    f"it like this:\n\n{USAGE}\nLet me know if you have questions!",
    "gpt, unit tests": f"{fenced(GOOD)}\nTests:\n"
    + fenced("import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        f(1)\n"),
    "gpt, all of it in markdown": f"````markdown\n# Answer\n{fenced(GOOD)}Done.\n````",
    "gpt, all of it in markdown, same marks": f"```markdown\n# Answer\n{fenced(GOOD)}```\n",
    "deepseek": f"<think>\nWe need x + 1.\n</think>\n\n{fenced(GOOD)}",
    # the head again, or a part of it
    "head behind": f"{fenced(GOOD)}The signature\n{fenced(SIGNATURE)}is kept.",
    "head behind, in a sentence": f"{fenced(GOOD)}As\n```python\n{SIGNATURE}``` is given, so",
    "head and comment behind": f"{fenced(GOOD)}It\n{fenced(SIGNATURE + '    # body' + chr(10))}",
    "stub behind": f"{fenced(GOOD)}Signature:\n{fenced('def f(x): ...' + chr(10))}",
    "stub that imports behind": f"{fenced(GOOD)}{fenced(SIGNATURE + '    import re' + chr(10))}",
    "stub before, then open": f"{fenced(PASSES)}So:\n```python\n{GOOD}",
    "stub before, then unfenced": f"{fenced(PASSES)}So:\n\n{GOOD}",
    # thinking
    "draft": f"<think>\n{fenced(BAD)}No.\n</think>\n{fenced(GOOD)}",
    "draft, then unfenced": f"<think>\n{fenced(BAD)}</think>\n\n{GOOD}",
    "draft left open": f"<think>\nMaybe\n```python\n{BAD}hm, no.\n</think>\n\n{fenced(GOOD)}Done.",
    "draft without the first tag": f"So x.\n{fenced(BAD)}no: x + 1.</think>\n{fenced(GOOD)}",
    "form left open": f"<think>\n```python\n# YOUR CODE\n\nOK.\n</think>\n{fenced(GOOD)}",
    "other tags": f"<reasoning>\n{fenced(BAD)}</reasoning>\n<answer>\n{GOOD}</answer>\n",
    "the tag as a word": f"{fenced(GOOD)}Here `</think>` is only a word.\n{USAGE}",
    "thought about twice": f"<think>\nx\n</think>\n{fenced(GOOD)}<think>\n{fenced(BAD)}</think>\n",
    "thought about again, left open": f"<think>x\n</think>\n{fenced(GOOD)}<think>\n{fenced(BAD)}",
    "the closing tag before a fence": f"<think>\n{fenced(BAD)}So it is</think> {fenced(GOOD)}",
    "a second closing tag": f"<think>\nx\n</think>\n{fenced(BAD)}Hm.\n</think>\n{fenced(GOOD)}",
    # sessions and quotations
    "session": f"So:\n\n{SESSION}",
    "session in a fence": f"So:\n{fenced(SESSION, info='pycon')}That is it.",
    "session in a list": f"1. So:\n\n{textwrap.indent(SESSION, '   ')}",
    "session that shows an error": fenced(
        f"{SESSION}>>> f(None)\nTraceback (most recent call last):\n  ...\nTypeError: no\n"
    ),
    "session in a quotation": textwrap.indent(SESSION, "> "),
    "quotation": textwrap.indent(f"So:\n\n{fenced(GOOD)}\nDone.\n", "> ", lambda line: True),
    "quotation without spaces": textwrap.indent(fenced(GOOD), ">", lambda line: True),
    "quotation in a quotation": textwrap.indent(fenced(GOOD), "> > ", lambda line: True),
    "quotation without a fence": textwrap.indent(GOOD, "> ", lambda line: True),
    "quoted question": f"> def f(x):\n>     ...\n\n{fenced(GOOD)}",
    # the end of the turn, and the text after it
    "end of the turn": f"{fenced(GOOD)}<|im_end|>\n<|im_start|>user\nNo:\n{fenced(BAD)}",
    "end of the turn, at once": f"{fenced(GOOD).rstrip()}<|eot_id|>{fenced(BAD)}",
    "end of the turn, unfenced": f"{GOOD.rstrip()}<|endoftext|>{BAD}",
    "end of the sequence": f"{GOOD.rstrip()}</s>\n{BAD}",
    "the next turn": f"{fenced(GOOD)}<start_of_turn>user\n{fenced(BAD)}",
    "an end before the answer": f"<|im_end|>\n<|im_start|>assistant\n{fenced(GOOD)}",
    # invisible characters
    "byte-order mark": f"\ufeff{fenced(GOOD)}It adds one.",
    "byte-order mark, unfenced": f"\ufeff{GOOD}",
    "byte-order mark in the fence": fenced(f"\ufeff{GOOD}"),
    "spaces of no width": fenced(GOOD.replace("(", "\u200b(").replace("+", "+\u2060")),
    "spaces that break no line": fenced(GOOD.replace(" ", "\xa0").replace("def\xa0", "def ")),
    # base models: MBPP's form, and words that are Python
    "[DONE]": f"{GOOD}[DONE]\n",
    "[BEGIN], [DONE]": f"[BEGIN]\n{GOOD}[DONE]\n",
    "[PYTHON]": f"[PYTHON]\n{GOOD}[/PYTHON]\n",
    "[DONE] in the fence": fenced(f"{GOOD}[DONE]\n"),
    "[BEGIN] around the fence": f"[BEGIN]\n{fenced(GOOD)}[DONE]\n",
    "[DONE] and the next problem": f"{GOOD}[DONE]\n\nYou are an expert Python programmer, and here "
    "is your task: Subtract. Your code should pass these tests:\n\nassert g(1) == 0\n[BEGIN]\n"
    "def g(x):\n    y = x - 1\n    return y\n[DONE]\n",
    "python": f"python\n{GOOD}",
    "python in the fence": fenced(f"python\n{GOOD}", info=""),
    "Solution": f"Solution\n\n{GOOD}",
    "Python, words": f"Python\n\n{GOOD}\nThis works.",
    "words that are an expression": f"{GOOD}\nDone and dusted\n",
    "words that are an annotation": f"{GOOD}\nComplexity: constant\n",
    "words before and behind": f"Code\n\n{GOOD}\nExplanation\nNone\n",
    # fences
    "two complete, one open": f"{fenced(BAD)}{fenced(GOOD)}and\n```python\ndef f(x):\n    ret",
    "stray opening": f"```\nSome text\n\n{fenced(GOOD)}",
    "marks in a sentence": f"Use ``` python fences.\n{fenced(GOOD)}",
    "quotes in a sentence": 'Use """ here:\n' + textwrap.indent(fenced(GOOD), "  "),
    "attributes": fenced(GOOD, info='python title="a.py"'),
    "braces": fenced(GOOD, info="{.python .numberLines}"),
    "tildes with a language": fenced(GOOD, info="python", marks="~~~"),
    "in a list": "1. So:\n\n" + textwrap.indent(fenced(GOOD), "   "),
    "in a list, by a tab": "- So:\n" + textwrap.indent(fenced(GOOD), "\t"),
    "in a list, the code is not": f"1. So:\n   ```python\n{GOOD}   ```\n",
    "closed at the body's margin": f"```python\n{GOOD}    ```\nUsage:\n{USAGE}",
    "closed behind the code, at once": f"```python\n{GOOD.rstrip()}```",
    "closed behind the code": f"```python\n{GOOD.rstrip()}```\nIt gives\n```\n2\n```\n",
    "opened behind words": f"Here: ```python\n{GOOD}```\nUsage:\n{USAGE}",
    "other languages": f"{fenced(GOOD)}{fenced('function f(x) {}' + chr(10), info='js')}",
    "windows": fenced(GOOD).replace("\n", "\r\n"),
    "open, cut off in a helper": f"Sure!\n```python\n{GOOD}\ndef g(y):\n    return (",
    # no fence, or fences around something else
    "usage fenced, the code not": f"{GOOD}\nUsage:\n{USAGE}",
    "indented block": "So:\n\n" + textwrap.indent(GOOD, "    ") + "\nThis adds one.",
    "indented block in a list": "1. So:\n\n" + textwrap.indent(GOOD, "      ") + "\n2. Done.",
    "html": f"<code>\n{GOOD}</code>",
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
