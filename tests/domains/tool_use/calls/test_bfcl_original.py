"""Our verdicts on calls are those of BFCL's own checker, where its repository is there.

Two differences are on purpose, and rare: calls match if any pairing with the gold calls does, and
true and 1 are different values.
"""

import importlib
import json
import random
import re
import sys
import types
from collections import Counter, defaultdict

import pytest

from dataenvgym.domains.tool_use.calls.problem import CallsProblem
from dataenvgym.domains.tool_use.calls.task import BFCLTask
from dataenvgym.domains.tool_use.matching import calls_match
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import ToolCall
from dataenvgym.tasks.domain import solves
from tests.domains.tool_use.calls.conftest import outside_data

SUBSETS = {
    "simple": 8,
    "multiple": 12,
    "parallel": 12,
    "parallel_multiple": 12,
    "live_simple": 8,
    "live_multiple": 3,
    "live_parallel": 60,
    "live_parallel_multiple": 40,
}
"""How many changed answers of each problem are compared."""


@pytest.fixture(scope="module")
def original():
    """The folder with BFCL's files, and its checker; the models that it lists are not needed."""
    folder = outside_data("gorilla/berkeley-function-call-leaderboard")
    named = types.ModuleType("bfcl_eval.constants.model_config")
    plain = types.SimpleNamespace(underscore_to_dot=False)
    named.MODEL_CONFIG_MAPPING = defaultdict(lambda: plain)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        patch.setitem(sys.modules, named.__name__, named)
        checker = importlib.import_module("bfcl_eval.eval_checker.ast_eval.ast_checker")
        language = importlib.import_module("bfcl_eval.constants.enums").Language.PYTHON
        yield folder / "bfcl_eval" / "data", checker, language


def changed(value, draw):
    """A value that is close to this one, or of another type."""
    if isinstance(value, bool):
        return draw.choice([not value, str(value), int(value)])
    if isinstance(value, int):
        return draw.choice([value, float(value), value + 1, str(value), [value]])
    if isinstance(value, float):
        return draw.choice([value, int(value), value + 0.5, str(value)])
    if isinstance(value, str):
        i = draw.randrange(len(value) + 1)
        near = [value.upper(), value[:i] + draw.choice(" ,./-_*^'\"s") + value[i:], value[:i]]
        return draw.choice([*near, value.replace(" ", ""), value.replace("'", '"'), [value], 3, ""])
    if isinstance(value, list):
        i = draw.randrange(len(value) + 1)
        near = [value[::-1], value[:i], [*value, "x"], str(value), [], {}]
        if i < len(value):
            near += [[*value[:i], changed(value[i], draw), *value[i + 1 :]]] * 4
        return draw.choice(near)
    if isinstance(value, dict) and value:
        name = draw.choice(sorted(value))
        less = {n: v for n, v in value.items() if n != name}
        return draw.choice(
            [less, value | {"x": 1}, *[value | {name: changed(value[name], draw)}] * 3]
        )
    return draw.choice([None, "", 0, {}])


def filled(gold, draw):
    """A right call, with one of the acceptable values for each argument."""
    arguments = dict(gold.call.arguments)
    for name, values in gold.acceptable.items():
        value = draw.choice(values)
        plain = not isinstance(value, dict | list)
        if plain and value != "":
            arguments[name] = value
        elif "" in values and draw.random() < 0.5:
            arguments.pop(name, None)
    return {"name": gold.name, "arguments": arguments}


def answers(problem, n, draw):
    """Right answers and changed ones: values, arguments, names, numbers and order of calls."""
    for _ in range(n):
        calls = [filled(gold, draw) for gold in problem.gold]
        for _ in range(draw.choice([0, 1, 1, 1, 2])):
            call = draw.choice(calls) if calls else None
            what = draw.choice(["value"] * 6 + ["left out", "added", "name", "order", "number"])
            if what == "order":
                draw.shuffle(calls)
            elif what == "number":
                calls = calls[1:] if draw.random() < 0.5 else [*calls, *calls[:1]]
            elif call and what == "name":
                call["name"] = draw.choice([tool.name for tool in problem.tools])
            elif call and what == "added":
                tool = next(tool for tool in problem.tools if tool.name == call["name"])
                known = [*(tool.parameters.get("properties") or {}), "other"]
                call["arguments"][draw.choice(known)] = draw.choice([1, "x", 2.5, True])
            elif call and call["arguments"]:
                name = draw.choice(sorted(call["arguments"]))
                if what == "left out":
                    del call["arguments"][name]
                else:
                    call["arguments"][name] = changed(call["arguments"][name], draw)
        yield json.loads(json.dumps(calls))


@pytest.mark.slow
@pytest.mark.parametrize("subset", SUBSETS)
def test_verdicts_on_changed_answers_are_those_of_bfcls_checker(original, subset):
    folder, checker, language = original
    instances = BFCLTask(folder, subset=subset).whole().instances
    file = f"BFCL_v4_{subset}{'_python' if subset == 'simple' else ''}.json"
    rows = {row["id"]: row for row in map(json.loads, (folder / file).read_text().splitlines())}
    text = (folder / "possible_answer" / file).read_text()
    gold = {row["id"]: row["ground_truth"] for row in map(json.loads, text.splitlines())}
    draw = random.Random(subset)
    counts, differing = Counter(), []
    for instance in instances:
        problem = instance.data_as(CallsProblem)
        for calls in answers(problem, SUBSETS[subset], draw):
            theirs = verdict(checker, language, rows[instance.id], calls, gold[instance.id], subset)
            given = [ToolCall(**call) for call in calls]
            ours = calls_match(given, problem.gold, lenient=True, tools=problem.tools)
            counts[theirs, ours] += 1
            if ours is theirs:
                continue
            if ours:  # BFCL gives each gold call, in order, the first call that it accepts
                wanted = gold[instance.id]
                orders = (draw.sample(wanted, len(wanted)) for _ in range(200))
                fits = (
                    verdict(checker, language, rows[instance.id], calls, order, subset) is True
                    for order in orders
                )
            else:  # in Python, 0 equals False
                swapped = [ToolCall(**json.loads(as_booleans(json.dumps(c)))) for c in calls]
                fits = iter([calls_match(swapped, problem.gold, lenient=True, tools=problem.tools)])
            if not any(fits):
                differing.append((instance.id, calls, gold[instance.id], theirs, ours))
    print(subset, len(instances), "problems", dict(counts))
    assert not differing
    assert counts[True, True] > counts.total() / 10
    assert counts[False, False] > counts.total() / 10
    assert counts[True, False] + counts[False, True] <= 3


def as_booleans(text):
    """The JSON with false and true in place of 0 and 1."""
    return re.sub(r": 0(?=[,}])", ": false", re.sub(r": 1(?=[,}])", ": true", text))


def verdict(checker, language, row, calls, gold, subset):
    """BFCL's verdict; False if the checker itself fails, as on a type that it does not expect."""
    output = [{call["name"]: call["arguments"]} for call in calls]
    try:
        found = checker.ast_checker(row["function"], output, gold, language, subset, "none")
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return bool(found["valid"])


@pytest.mark.slow
@pytest.mark.parametrize("subset", ["irrelevance", "live_irrelevance", "live_relevance"])
def test_where_only_the_existence_of_a_call_counts_any_call_decides(original, subset):
    folder, *_ = original
    task = BFCLTask(folder, subset=subset).whole()
    for instance in task.instances:
        tool = instance.data_as(CallsProblem).tools[0]
        called = f'<tool_call>{{"name": "{tool.name}", "arguments": {{}}}}</tool_call>'
        verdicts = [solves(task.domain, instance, reply) for reply in (called, "I cannot.", "")]
        assert verdicts == [subset == "live_relevance", *[subset != "live_relevance"] * 2]


@pytest.mark.slow
def test_rows_that_bfcl_counts_and_no_answer_solves_are_left_out_by_name(original, caplog):
    folder, *_ = original
    assert len(BFCLTask(folder).whole().instances) == 3482
    assert "9 of 3491 rows" in caplog.text
    with pytest.raises(ConfigurationError, match="subset 'java'"):
        _ = BFCLTask(folder, subset="java").whole().instances
