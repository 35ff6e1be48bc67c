"""The verdicts of API-Bank's own evaluators, in its checkout: the answers to cases, one a line.

A case of levels 1 and 2 has the recorded turn ("gold") and a call; one of level 3 has the recorded
call of a requirement. The evaluator of level 3 is run whole, on a file with one prediction.
"""

import contextlib
import io
import json
import marshal
import os
import sys
import tempfile
import types

for absent in ("rouge", "tqdm", "utils", "googletrans"):
    module = types.ModuleType(absent)
    module.__getattr__ = lambda name: type(name, (), {})
    sys.modules[absent] = module
sys.path[0] = os.getcwd()

import evaluator  # noqa: E402
import tool_manager  # noqa: E402
from api_call_extraction import parse_api_call  # noqa: E402

PARSED = {}
LOAD = json.load


@contextlib.contextmanager
def opened(path, mode="r"):
    """The path itself, for `load`; a database is read from the disk once."""
    if path not in PARSED:
        with open(path) as stream:
            PARSED[path] = marshal.dumps(LOAD(stream))
    yield path


def load(source):
    """A new copy of a database, or what a file contains."""
    return marshal.loads(PARSED[source]) if isinstance(source, str) else LOAD(source)


tool_manager.open = opened
json.load = load


def as_text(call):
    """The call in API-Bank's notation, or None if its evaluator would read another one."""
    values = {name: str(value) for name, value in call["arguments"].items()}
    text = f"[{call['name']}({', '.join(f'{n}={v!r}' for n, v in values.items())})]"
    plain = not any(isinstance(v, list | dict) for v in call["arguments"].values())
    with contextlib.suppress(Exception):
        if plain and parse_api_call(text) == (call["name"], values):
            return text
    return None


def level_1(case):
    """Whether the evaluator of levels 1 and 2 accepts the call, and whether it read it as text."""
    call, gold = case["call"], case["gold"]
    if (text := as_text(call)) is not None:
        sample = evaluator.Sample([], set(), gold)
        return [bool(evaluator.Evaluator([sample]).evaluate(0, text)[0]), True]
    if call["name"] != gold["api_name"]:
        return [False, False]
    manager = tool_manager.ToolManager()
    result = manager.api_call(call["name"], **call["arguments"])
    tool = manager.init_tool(call["name"])
    return [bool(tool.check_api_call_correctness(result, gold["result"])), False]


def level_3(case):
    """The same of the evaluator of level 3."""
    if (text := as_text(case["call"])) is None:
        return [None, False]
    with open("lv3_evaluator.py") as stream:
        source = stream.read()
    with tempfile.TemporaryDirectory() as folder:
        files = {
            "path-to-json": {"sample_id": 0, "api_id": 0, "pred": text},
            "test_data/level-3.json": [{"apis": [case["gold"]]}],
        }
        for name, content in files.items():
            path = os.path.join(folder, os.path.basename(name))
            with open(path, "w") as stream:
                json.dump(content, stream)
            source = source.replace(f"'{name}'", repr(path))
        source = source.replace("if_api = False", "if_api = True")
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(source, "lv3_evaluator.py", "exec"), {"__name__": "__main__"})
    return ["Correct: 1\n" in said.getvalue(), True]


def judged(case):
    try:
        return (level_3 if case["apis"] == "lv3_apis" else level_1)(case)
    except ImportError:  # a package that API-Bank needs: no verdict
        raise
    except Exception as error:
        return [False, f"{type(error).__name__}: {error}"]


def main():
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for line in sys.stdin:
        print(json.dumps(judged(json.loads(line))), file=out, flush=True)


if __name__ == "__main__":
    main()
