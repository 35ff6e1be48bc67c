"""Our verdicts on calls are those of API-Bank's own evaluators, where its repository is there."""

import ast
import json
import os
import random
import subprocess
import sys
from collections import Counter

import pytest

from dataenvgym.domains.tool_use.calls.api_bank_apis import ApiBankApis, CheckedCall
from dataenvgym.domains.tool_use.calls.problem import CallsProblem
from dataenvgym.domains.tool_use.calls.task import APIBankTask
from dataenvgym.records import ToolCall
from tests.domains.tool_use.calls.conftest import original_verdicts, outside_data

SEARCHER = '''
"""Stands for the package of API-Bank's searcher: two texts are close if they share words."""
import math


class Similarity(float):
    def item(self):
        return float(self)


class SentenceTransformer:
    def __init__(self, name):
        pass

    def encode(self, text):
        return set(text.lower().split())


class util:
    @staticmethod
    def cos_sim(one, other):
        return Similarity(len(one & other) / math.sqrt(max(1, len(one) * len(other))))
'''


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    folder = outside_data("DAMO-ConvAI/api-bank")
    for package in ("nltk", "rank_bm25"):
        pytest.importorskip(package, reason=f"API-Bank needs the package {package}")
    (tmp_path / "sentence_transformers.py").write_text(SEARCHER)
    path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHONPATH", path)
    return folder


def other_text(text, others, random):
    """A text that differs in one thing: case, space, a word, a digit, or another call's text."""
    words = text.split(" ")
    i = random.randrange(len(words))
    digits = [k for k, c in enumerate(text) if c.isdigit()] or [0]
    k = random.choice(digits)
    return random.choice(
        [
            text.upper(),
            text.lower(),
            f" {text}",
            f"{text} ",
            " ".join(words[:i] + words[i + 1 :]),
            " ".join([*words, "soon"]),
            " ".join(reversed(words)),
            text[:k] + str(random.randrange(10)) + text[k + 1 :],
            text.split(" ")[0],
            "",
            random.choice(others),
        ]
    )


def mutations(call, pool, n, random):
    """The call itself, and n calls that differ from it."""
    yield call
    for _ in range(n):
        name, arguments = call["name"], json.loads(json.dumps(call["arguments"]))
        what = random.choice(["value", "value", "value", "value", "left out", "added", "name"])
        if what == "name":
            name = random.choice(sorted(pool))
        elif what == "added" or not arguments:
            arguments["extra"] = "1"
        else:
            chosen = random.choice(sorted(arguments))
            value = arguments[chosen]
            if what == "left out":
                del arguments[chosen]
            elif isinstance(value, str):
                others = [str(c["arguments"].get(chosen, "x")) for c in pool[name]]
                arguments[chosen] = other_text(value, others, random)
            elif isinstance(value, bool):
                arguments[chosen] = not value
            elif isinstance(value, int | float):
                arguments[chosen] = random.choice([value + 1, str(value), -value])
            else:
                arguments[chosen] = random.choice([value[1:], value[::-1], [*value, "Ann"]])
        yield {"name": name, "arguments": arguments}


def compared(checkout, golds, n, seed):
    """How often both say right, both wrong, ..., and the cases in which they differ."""
    draw = random.Random(seed)
    pool = {}
    for gold in golds:
        pool.setdefault(gold["call"]["name"], []).append(gold["call"])
    cases = [
        {**gold, "call": call} for gold in golds for call in mutations(gold["call"], pool, n, draw)
    ]
    theirs = original_verdicts("original_api_bank.py", checkout, cases)
    apis = ApiBankApis(checkout)
    counts, differing = Counter(), []
    for case, (verdict, how) in zip(cases, theirs, strict=True):
        if verdict is None:
            continue
        recorded = case["gold"]
        result = recorded["result"] if case["apis"] == "apis" else recorded["output"]
        gold = CheckedCall(apis=case["apis"], name=recorded["api_name"], result=result)
        ours = next(iter(apis.verdict([ToolCall(**case["call"])], gold).values()), None)
        counts[verdict, ours, how is True] += 1
        if verdict is not ours:
            differing.append((case["call"], recorded, verdict, ours, how))
    return counts, differing


NEEDS = {"Translate": "googletrans", "SearchEngine": "nltk", "Dictionary": "a network"}


@pytest.mark.slow
@pytest.mark.parametrize("folder", ["level-1-given-desc", "level-2-toolsearcher"])
def test_verdicts_on_changed_calls_are_those_of_the_evaluator_of_levels_1_and_2(checkout, folder):
    files = sorted((checkout / "lv1-lv2-samples" / folder).glob("*.jsonl"))
    turns = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    golds = [
        {
            "apis": "apis",
            "gold": turn,
            "call": {
                "name": turn["api_name"],
                "arguments": turn["result"]["input"]
                if (turn["result"]["input"] or {}).keys() == turn["param_dict"].keys() != set()
                else turn["param_dict"],
            },
        }
        for turn in turns
        if turn["role"] == "API" and turn["api_name"] not in NEEDS
    ]
    counts, differing = compared(checkout, golds, 12 if folder.startswith("level-1") else 24, 1)
    print(folder, counts, len(differing))
    assert counts.total() > 2500
    assert counts[True, True, True] > 300
    # a search is right by the tool that it finds; API-Bank compares descriptions, too
    assert {gold["api_name"] for _, gold, *_ in differing} <= {"ToolSearcher"}
    assert all(ours for *_, ours, _ in differing)


def plans(checkout, random):
    """Calls that the APIs of level 3 answer, found with the texts in their source."""
    apis = ApiBankApis(checkout)
    program = (
        "import json, sys\nsys.path[0] = '.'\nimport tool_manager\n"
        "m = tool_manager.ToolManager('./lv3_apis')\n"
        "for line in sys.stdin:\n"
        "    n, a = json.loads(line)\n"
        "    try: r = m.api_call(n, **a)\n"
        "    except BaseException as e: r = {'exception': repr(e)}\n"
        "    sys.stderr.write(json.dumps(r, default=str) + chr(10))\n"
    )
    tried = []
    sources = {}
    for file in sorted((checkout / "lv3_apis").glob("*.py")):
        tree = ast.parse(file.read_text())
        texts = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant)]
        texts = [t for t in texts if isinstance(t, str) and 0 < len(t) < 40]
        sources |= {n.name: texts for n in tree.body if isinstance(n, ast.ClassDef)}
    for tool in apis.tools("lv3_apis"):
        for _ in range(400):
            arguments = {}
            for name, schema in tool.parameters["properties"].items():
                value = random.choice(sources[tool.name])
                if schema.get("type") in ("integer", "number"):
                    value = random.randrange(1, 100000)
                arguments[name] = [value] if schema.get("type") == "array" else value
            tried.append([tool.name, arguments])
    lines = "".join(json.dumps(each) + "\n" for each in tried)
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=checkout, input=lines, capture_output=True, text=True
    )
    found = {}
    for (name, arguments), line in zip(tried, ran.stderr.splitlines(), strict=True):
        result = json.loads(line)
        if result.get("exception") is None and len(found.setdefault(name, [])) < 8:
            found[name].append(
                {
                    "apis": "lv3_apis",
                    "gold": {"api_name": name, "input": arguments, "output": result},
                    "call": {"name": name, "arguments": arguments},
                }
            )
    return [gold for golds in found.values() for gold in golds]


@pytest.mark.slow
def test_verdicts_on_changed_calls_are_those_of_the_evaluator_of_level_3(checkout):
    golds = plans(checkout, random.Random(2))
    assert len({gold["call"]["name"] for gold in golds}) > 12
    counts, differing = compared(checkout, golds, 16, 3)
    print("level 3", len(golds), counts, len(differing))
    assert counts.total() > 1000
    assert counts[True, True, True] > 100
    assert not differing


@pytest.mark.slow
def test_a_checkout_describes_the_tools_and_accepts_most_gold_calls(checkout):
    folder = checkout / "lv1-lv2-samples" / "level-1-given-desc"
    task = APIBankTask(folder, checkout=checkout, turns="calls").whole()
    environment = task.domain.make_environment()
    verdicts = Counter()
    for instance in task.instances:
        environment.reset(options={"instance": instance})
        *_, info = environment.step(instance.answer)
        assert info["was_correct"] == 1.0
        verdicts[info["scores"].get("accepted_by_api")] += 1
    assert verdicts[1.0] > 350
    tools = {tool.name: tool for tool in task.instances[0].data_as(CallsProblem).tools}
    assert "Format" in tools["AddAgenda"].parameters["properties"]["time"]["description"]
