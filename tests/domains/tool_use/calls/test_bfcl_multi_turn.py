"""BFCL's multi-turn conversations: on a small checkout of our own, and compared with BFCL."""

import ast
import json
import random
from collections import Counter

import pytest

from dataenvgym.domains.tool_use.calls import bfcl_process
from dataenvgym.domains.tool_use.calls.bfcl_multi_turn import (
    MOST_STEPS,
    BFCLMultiTurnTask,
    MultiTurnProblem,
    as_source,
)
from dataenvgym.domains.tool_use.calls.problem import as_calls_text
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Tool, ToolCall
from dataenvgym.records.instances import fault_of
from tests.calls_files import write
from tests.domains.tool_use.calls.conftest import original_verdicts, outside_data
from tests.fakes import Student

# A checkout with one class, a counter, and a checker that compares its number after each turn.
FILES = {
    "constants/default_prompts.py": 'DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC = "More!"\n',
    "constants/executable_backend_config.py": 'DOC_FILE_MAPPING = {"Counter": "counter.json"}\n',
    "eval_checker/multi_turn_eval/multi_turn_utils.py": """
class Counter:
    def __init__(self, config):
        self.n = config["n"]

    def add(self, by=1):
        self.n += by
        return self.n

    def wait(self):
        import time
        time.sleep(60)

    def clear(self):
        self.n = 0
        return "cleared"

    def power(self, base, exponent):
        return base**exponent

    def fill(self, n):
        return len(bytes(n))

    def crash(self):
        import os
        os.abort()

    def say(self, text):
        return text


def execute_multi_turn_func_call(calls, config, classes, model, id, long_context=False):
    name = f"{model}_{id}"
    counter = globals().setdefault(name, Counter(config["Counter"]))
    results = []
    for call in calls:
        try:
            results.append(str(eval(f"counter.{call}", {"counter": counter})))
        except Exception as error:
            results.append(f"Error: {error}")
    return results, counter
""",
    "eval_checker/multi_turn_eval/multi_turn_checker.py": """
from bfcl_eval.eval_checker.multi_turn_eval.multi_turn_utils import execute_multi_turn_func_call


def multi_turn_checker(turns, gold, entry, category, model):
    of = entry["initial_config"], entry["involved_classes"]
    for steps, wanted in zip(turns, gold):
        for calls in [[], *steps]:
            _, one = execute_multi_turn_func_call(calls, *of, model + "_again", entry["id"])
        _, other = execute_multi_turn_func_call(wanted, *of, model + "_gold", entry["id"])
        if one.n != other.n:
            return {"valid": False, "error_type": "another number"}
    return {"valid": True}
""",
}


WHOLE = {"type": "integer"}
TOOLS = {
    "add": {"by": WHOLE},
    "power": {"base": WHOLE, "exponent": WHOLE},
    "fill": {"n": WHOLE},
    "say": {"text": {"type": "any"}},
    **{name: {} for name in ("clear", "wait", "crash")},
}
ROWS = {
    "base": (["Add 2.", "Add 1."], [["add(by=2)"], ["add()"]], {}),
    "miss_func": (["Clear it.", ""], [[], ["clear()"]], {"missed_function": {"1": ["clear"]}}),
}


@pytest.fixture
def checkout(tmp_path):
    for name, text in FILES.items():
        file = tmp_path / "bfcl_eval" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    data = tmp_path / "bfcl_eval" / "data"
    for folder in ("possible_answer", "multi_turn_func_doc"):
        (data / folder).mkdir(parents=True)
    described = [
        {"name": name, "description": "", "parameters": {"type": "dict", "properties": parameters}}
        for name, parameters in TOOLS.items()
    ]
    write(data / "multi_turn_func_doc" / "counter.json", described)
    of = {"initial_config": {"Counter": {"n": 3}}, "involved_classes": ["Counter"], "path": []}
    for name, (turns, gold, more) in ROWS.items():
        id = f"multi_turn_{name}_0"
        said = [[{"role": "user", "content": turn}] if turn else [] for turn in turns]
        write(
            data / f"BFCL_v4_multi_turn_{name}.json", [{"id": id, "question": said, **of, **more}]
        )
        answer = {"id": id, "ground_truth": gold}
        write(data / "possible_answer" / f"BFCL_v4_multi_turn_{name}.json", [answer])
    return tmp_path


def call(name, **arguments):
    return as_calls_text([ToolCall(name=name, arguments=arguments)])


def play(task, *replies, instance=None):
    environment = task.domain.make_environment()
    environment.reset(options={"instance": instance or task.instances[0]})
    for reply in replies:
        conversation, reward, done, _, info = environment.step(reply)
    return conversation, reward, done, info


def test_calls_run_until_a_message_without_calls_ends_the_turn(checkout):
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    talk, *_ = play(task, call("add", by=1), call("add", by=1))
    assert [m.content for m in talk if m.role == "tool"] == ["4", "5"]
    talk, _, done, _ = play(task, call("add", by=2), "Done.")
    assert (talk[-1].role, talk[-1].content, done) == ("user", "Add 1.", False)
    assert play(task, call("add", by=2), "Done.", call("add"), "Done.")[1:3] == (1.0, True)
    assert play(task, call("add", by=1), call("add", by=1), "Done.", call("add"), ".")[1] == 1.0
    _, reward, _, info = play(task, call("add", by=3), "Done.", "Done.")
    assert (reward, info["note"]) == (0.0, "another number")


def test_withheld_tools_come_with_a_turn_of_their_own(checkout):
    task = BFCLMultiTurnTask(checkout=checkout, category="miss_func").whole()
    tools = task.instances[0].data_as(MultiTurnProblem).tools
    assert [tool.name for tool in tools] == [name for name in TOOLS if name != "clear"]
    talk, *_ = play(task, "I cannot.")
    assert '"clear"' in talk[-1].content
    assert talk[-1].content.endswith("\nMore!")
    assert play(task, "I cannot.", call("clear"), "Done.")[1] == 1.0
    assert play(task, "I cannot.", "Done.")[1] == 0.0
    assert play(task, call("unknown"), "No.", call("clear"), "Done.")[1] == 1.0


def test_too_many_steps_in_a_turn_end_it(checkout):
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    *_, done, info = play(task, *[call("add")] * MOST_STEPS)
    assert not done
    *_, done, info = play(task, *[call("add")] * (MOST_STEPS + 1))
    assert (done, info["note"]) == (True, "more than 20 steps in a turn")


def test_calls_are_literals_of_declared_tools():
    tools = [Tool(name="f", description="", parameters={})]
    quoted = ToolCall(name="f", arguments={"a": "x'); import os; f('", "b": [True, None, 1.5]})
    assert ast.literal_eval(ast.parse(as_source(quoted, tools)).body[0].value.keywords[0].value)
    for name, arguments in (("exit", {}), ("f", {"a=1, b": 2}), ("f.__init__", {})):
        assert as_source(ToolCall(name=name, arguments=arguments), tools) == "undefined_tool()"


HARMFUL = {
    "one C call without end": call("power", base=10, exponent=10**9),
    "waiting": call("wait"),
    "memory": call("fill", n=10**11),
    "a crash": call("crash"),
    "a long result": call("say", text="x" * 10**6),
    "a surrogate": call("say", text="a").replace('"a"', r'"\ud800"'),
    "nested": call("say", text=1).replace("1}", "[" * 150 + "]" * 150 + "}"),
    "a bomb": call("say", text=1).replace("1}", "[" * 9000 + "]" * 9000 + "}"),
    "no number": call("say", text=1).replace("1}", "NaN}"),
    "a keyword": call("say", **{"class": 1, "None": 2}),
}


@pytest.mark.parametrize("harmful", HARMFUL.values(), ids=HARMFUL)
def test_what_a_call_does_to_the_process_is_the_students_and_concerns_no_other(
    checkout, hasty, harmful
):
    hasty(bfcl_process)
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    other = task.domain.make_environment()
    other.reset(options={"instance": task.instances[0]})
    other.step(call("add", by=1))
    student = Student(lambda text, sampling: harmful if text == "Add 2." else "Done.")
    (completed,) = task.evaluate(student)
    assert (completed.error, completed.reward) == (None, 0.0)
    assert other.step(call("add", by=1))[0][-1].content == "5"
    for reply in ("Done.", call("add"), "Done."):
        _, reward, *_ = other.step(reply)
    assert reward == 1.0


def test_the_memory_of_a_call_is_limited(checkout):
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    talk, *_ = play(task, call("fill", n=10**9), call("fill", n=6 * 10**9))
    assert [m.content for m in talk if m.role == "tool"] == ["1000000000", "Error: "]


def test_gold_calls_that_cannot_run_are_an_error_of_the_environment(checkout, hasty):
    hasty(bfcl_process)
    answer = {"id": "multi_turn_base_0", "ground_truth": [["wait()"], ["add()"]]}
    write(checkout / "bfcl_eval/data/possible_answer/BFCL_v4_multi_turn_base.json", [answer])
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    (completed,) = task.evaluate(Student(lambda text, sampling: call("wait")))
    assert fault_of(completed) == "environment"


def test_a_process_that_ended_starts_again_with_what_each_conversation_did(checkout):
    task = BFCLMultiTurnTask(checkout=checkout, category="base").whole()
    first, second = (task.domain.make_environment() for _ in range(2))
    for environment in (first, second):
        environment.reset(options={"instance": task.instances[0]})
        environment.step(call("add", by=5))
    first._checkout._process.kill()
    for environment in (first, second):
        assert environment.step(call("add"))[0][-1].content == "9"
    assert play(task, call("add", by=2), "Done.", call("add"), "Done.")[1] == 1.0


@pytest.mark.parametrize("kind", ["Abacus", "", None, 5])
def test_a_class_without_tools_is_refused(checkout, kind):
    file = checkout / "bfcl_eval/data/BFCL_v4_multi_turn_base.json"
    write(file, [json.loads(file.read_text()) | {"involved_classes": [kind]}])
    with pytest.raises(ConfigurationError, match=rf"{kind}\.json"):
        _ = BFCLMultiTurnTask(checkout=checkout, category="base").whole().instances


def test_what_is_no_checkout_is_refused(checkout, caplog):
    with pytest.raises(ConfigurationError, match="folder berkeley-function"):
        BFCLMultiTurnTask(checkout=checkout / "bfcl_eval")
    with pytest.raises(ConfigurationError, match="BFCL_v"):
        _ = BFCLMultiTurnTask(checkout=checkout).whole().instances
    (checkout / "bfcl_eval" / "constants" / "default_prompts.py").write_text("")
    with pytest.raises(ConfigurationError, match="has changed since commit"):
        BFCLMultiTurnTask(checkout=checkout)


# --- compared with BFCL ---


def tool_call(source, tools):
    """A gold call, with names for all arguments."""
    parsed = ast.parse(source, mode="eval").body
    names = list(tools[parsed.func.id].parameters["properties"])
    arguments = dict(zip(names, map(ast.literal_eval, parsed.args), strict=False))
    arguments |= {word.arg: ast.literal_eval(word.value) for word in parsed.keywords}
    return ToolCall(name=parsed.func.id, arguments=json.loads(json.dumps(arguments)))


def changed(turns, tools, draw):
    """The turns with a call left out, repeated, moved, changed, or made in another step."""
    turns = [[list(step) for step in turn] for turn in turns]
    for _ in range(draw.choice([0, 1, 1, 2])):
        turn = draw.choice(turns)
        if not turn:
            turn.append([])
        step = draw.choice(turn)
        what = draw.choice(["less", "twice", "order", "value", "name", "steps", "other"])
        if what == "other":
            name = draw.choice(sorted(tools))
            step.append(ToolCall(name=name, arguments={}))
        elif what == "steps":
            turn[:] = [[one] for each in turn for one in each]
        elif step and what == "less":
            step.pop(draw.randrange(len(step)))
        elif step and what == "twice":
            step.append(draw.choice(step))
        elif what == "order":
            draw.shuffle(step)
        elif step:
            i = draw.randrange(len(step))
            one, arguments = step[i], dict(step[i].arguments)
            if what == "name":
                step[i] = ToolCall(name=draw.choice(["exit", "cat", "ls"]), arguments=arguments)
            elif arguments:
                name = draw.choice(sorted(arguments))
                value = arguments[name]
                number = isinstance(value, int | float)
                arguments[name] = value + 1 if number else draw.choice(["x", "", [value], None])
                step[i] = ToolCall(name=one.name, arguments=arguments)
    return [[step for step in turn if step] for turn in turns]


@pytest.mark.slow
@pytest.mark.parametrize("category", ["base", "miss_func", "miss_param", "long_context"])
def test_verdicts_on_changed_conversations_are_those_of_bfcls_checker(category):
    folder = outside_data("gorilla/berkeley-function-call-leaderboard")
    task = BFCLMultiTurnTask(checkout=folder, category=category).whole()
    assert len(task.instances) == 200
    draw, cases, ours = random.Random(category), [], []
    for instance in task.instances:
        problem = instance.data_as(MultiTurnProblem)
        tools = {t.name: t for t in (*problem.tools, *sum(problem.withheld.values(), ()))}
        gold = [[[tool_call(c, tools) for c in turn]] if turn else [] for turn in problem.gold]
        for number in range(4):
            turns = changed(gold, tools, draw) if number else gold
            replies = [
                reply for turn in turns for reply in (*map(as_calls_text, turn), "Next, please.")
            ]
            _, reward, done, info = play(task, *replies, instance=instance)
            assert done
            ours.append([reward == 1.0, info.get("note")])
            written = [
                [[f"{c.name}({', '.join(f'{n}={v!r}' for n, v in c.arguments.items())})"
                  for c in step] for step in turn] for turn in turns
            ]  # fmt: skip
            safe = json.loads(json.dumps(written).replace('"exit(', '"no_exit('))
            entry = problem.entry.model_dump(mode="json")
            cases.append({"entry": entry, "turns": safe, "gold": problem.gold})
    theirs = original_verdicts("original_bfcl.py", folder, cases)
    assert len(theirs) == len(ours) == 800
    differing = [
        (case["entry"]["id"], case["turns"], one, other)
        for case, one, other in zip(cases, ours, theirs, strict=True)
        if one[0] != other[0]
    ]
    print(category, Counter((a[0], b[0]) for a, b in zip(ours, theirs, strict=True)))
    print(Counter(b[1] for b in theirs))
    assert differing == []
    assert all(one[0] for one in ours[::4])  # the gold calls
