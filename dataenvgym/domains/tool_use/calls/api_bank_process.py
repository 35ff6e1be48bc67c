"""The program that `api_bank_apis` runs in a clone of API-Bank (see `checkout`).

Each call finds the databases as the clone has them.
"""

import contextlib
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import types
from collections.abc import Sequence
from typing import Any

SECONDS = 60
# Packages that some of the APIs import; all other APIs can do without them.
PACKAGES = ("googletrans", "nltk", "rank_bm25", "requests", "rouge", "sentence_transformers")


class Missing(BaseException):
    """An API needs a package that is not installed; the APIs catch each Exception."""


class Absent(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Stands for the packages that are not installed, until one of their functions is called."""

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        """A module without contents, for the packages that APIs import."""
        if name.partition(".")[0] in PACKAGES:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """An empty module."""
        return types.ModuleType(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Give the module every name: a function that raises `Missing`."""
        package = module.__name__.partition(".")[0]

        def needed(*args: Any, **kwargs: Any) -> None:
            raise Missing(package)

        def attribute(name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return needed

        module.__getattr__ = attribute  # type: ignore[method-assign]


def as_received(value: Any, declared: str | None) -> Any:
    """A number for a text, or true and false, as they arrive from API-Bank's own notation."""
    if declared == "bool" and isinstance(value, bool):
        return str(value)
    if declared == "str" and isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value


def tool_names(output: Any) -> list[Any]:
    """The names of the tools that a search found."""
    return [tool.get("name") for tool in (output if isinstance(output, list) else [output])]


def accepts(manager: Any, request: dict[str, Any]) -> bool:
    """Whether the gold call's API accepts the call, as in API-Bank's evaluators."""
    name, gold_name, gold = request["name"], request["gold_name"], request["gold"]
    if manager.is_level_3:  # it compares results, whichever API gave them
        if name == "ToolSearcher":
            words = request["arguments"]["keywords"]
            words = "".join(f" {c}" if c.isupper() else c for c in words).strip()
            request["arguments"]["keywords"] = words
    elif name != gold_name:
        return False
    parameters = manager.get_api_by_name(name)["input_parameters"]
    arguments = {
        n: as_received(value, parameters.get(n, {}).get("type"))
        for n, value in request["arguments"].items()
    }
    result = manager.api_call(name, **arguments)
    if name == gold_name == "ToolSearcher":
        if result["output"] is None or gold["output"] is None:
            return bool(result["output"] == gold["output"])
        return tool_names(result["output"]) == tool_names(gold["output"])
    return bool(manager.init_tool(gold_name).check_api_call_correctness(result, gold))


def renew(manager: Any, databases: dict[str, str], names: Sequence[str]) -> None:
    """Give the named APIs new objects, with the databases as the checkout has them."""
    manager.inited_tools.clear()
    for api in manager.apis:
        if api["name"] in ("CheckToken", *names) and api["name"] in databases:
            api["init_database"] = json.loads(databases[api["name"]])
    if hasattr(manager, "token_checker"):
        manager.token_checker = manager.init_tool("CheckToken")


def judge(manager: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request with a call."""
    signal.alarm(SECONDS)  # it ends this process, also within one call of C code
    try:
        return {"accepts": accepts(manager, request)}
    except Missing as error:
        return {"missing": str(error)}
    except Exception:  # noqa: BLE001 - as in API-Bank, a call that fails is wrong
        return {"accepts": False}
    finally:
        signal.alarm(0)


def main() -> None:
    """Answer each line of the standard input."""
    sys.path[0] = os.getcwd()
    sys.meta_path.append(Absent())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the APIs print must not mix with our answers
    ToolManager = importlib.import_module("tool_manager").ToolManager
    managers: dict[str, Any] = {}
    databases: dict[str, dict[str, str]] = {}
    for line in sys.stdin:
        request = json.loads(line)
        folder = request["apis"]
        if folder not in managers:
            managers[folder] = ToolManager(f"./{folder}")
            managers[folder].is_level_3 = folder == "lv3_apis"
            databases[folder] = {
                api["name"]: json.dumps(api["init_database"])
                for api in managers[folder].apis
                if "init_database" in api
            }
        manager = managers[folder]
        if "name" in request:
            renew(manager, databases[folder], (request["name"], request["gold_name"]))
            answer = judge(manager, request)
        else:
            shown = ("name", "description", "input_parameters")
            answer = {"apis": [{name: api[name] for name in shown} for api in manager.apis]}
        with contextlib.suppress(BrokenPipeError):
            print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
    os._exit(0)  # without the last words of the packages that were imported
