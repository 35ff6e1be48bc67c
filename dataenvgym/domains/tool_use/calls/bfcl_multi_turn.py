"""BFCL's multi-turn conversations, with the classes and the checker of the user's clone.

    bfcl_eval/data/BFCL_v4_multi_turn_base.json    {"id", "question": [[message], ...],
                                                    "initial_config", "involved_classes"}
    .../possible_answer/BFCL_v4_multi_turn_base.json    {"id", "ground_truth": [["cd(...)"], ...]}

In each turn of the user the student calls tools until it writes a message without calls; then the
next turn begins. The tools are methods of BFCL's classes (files, tickets, trades, ...), which run
in a process of their own. After the last turn BFCL's checker decides: in each turn, the objects
have the state that the gold calls give them, and the results contain those of the gold calls. A
turn with more than `MOST_STEPS` messages with calls ends the conversation, and it is wrong; so do
calls for which the process has not enough time or memory, if it has for the gold calls.

In `miss_func` some tools are withheld at first; their turn has no user message, and BFCL's sentence
that there are more functions follows their descriptions.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import Field

from dataenvgym.domains.tool_use.calls import bfcl_process
from dataenvgym.domains.tool_use.calls.bfcl import Function
from dataenvgym.domains.tool_use.calls.checkout import Checkout
from dataenvgym.domains.tool_use.calls.problem import declaring, files_in
from dataenvgym.errors import ConfigurationError, EvaluationError
from dataenvgym.options import takes
from dataenvgym.records import Conversation, Message, TaskInstance, Tool, ToolCall
from dataenvgym.records.model import Json, Model, Text
from dataenvgym.records.tool_formats import as_function, to_json
from dataenvgym.tasks.base import Task
from dataenvgym.tasks.domain import Domain
from dataenvgym.tasks.environment import Outcome, TaskEnvironment
from dataenvgym.tasks.options import PromptOptions, RowOptions, TaskOptions
from dataenvgym.tasks.row_source import RowSource
from dataenvgym.tasks.rows import HubDataset, SourceRow, UnfitRowError, parsed, rows_of_lines
from dataenvgym.tasks.scoring.code.syntax import parse

Category = Literal["base", "miss_func", "miss_param", "long_context", "all"]
MOST_STEPS = 20
_DATA = "bfcl_eval/data"
_UNKNOWN = "undefined_tool()"
"""A call in place of one of a tool that does not exist: it fails in the same way."""


class Entry(Model):
    """The fields of a row that BFCL's own program reads."""

    id: str = Field(min_length=1)
    initial_config: dict[str, Json]
    involved_classes: tuple[str, ...] = Field(min_length=1)


class MultiTurnProblem(Model):
    """One conversation.

    Attributes:
        tools: declared to the student from the first turn on.
        withheld: by turn, the tools that are only declared from that turn on.
        turns: the user's messages in each turn.
        gold: the calls of each turn, in Python's syntax.
    """

    entry: Entry
    tools: tuple[Tool, ...] = Field(min_length=1)
    withheld: dict[int, tuple[Tool, ...]] = {}
    turns: tuple[tuple[Message, ...], ...] = Field(min_length=1)
    gold: tuple[tuple[Text, ...], ...] = Field(min_length=1)


def as_source(call: ToolCall, tools: Sequence[Tool]) -> str:
    """The call in Python's syntax, with literals alone; `_UNKNOWN` if no tool has that name."""
    names = {tool.name for tool in tools}
    if call.name not in names or not all(name.isidentifier() for name in call.arguments):
        return _UNKNOWN
    return f"{call.name}({', '.join(f'{n}={value!r}' for n, value in call.arguments.items())})"


class MultiTurnEnvironment(TaskEnvironment):
    """Reward 1.0 if BFCL's checker accepts the conversation, else 0.0.

    Args:
        domain: has the clone, which runs calls and judges, and BFCL's sentence that there are more
            functions.
    """

    max_turns = 1000
    _sessions = itertools.count()

    def __init__(self, instances: Sequence[TaskInstance], domain: MultiTurnDomain) -> None:
        super().__init__(instances)
        self.prompt_template = domain.prompt_template
        self._checkout, self._more_tools = domain.checkout, domain.more_tools

    def begin(self, instance: TaskInstance) -> Conversation:
        self._problem = instance.data_as(MultiTurnProblem)
        withheld = itertools.chain.from_iterable(self._problem.withheld.values())
        self._callable = [*self._problem.tools, *withheld]  # as in BFCL, whenever it is called
        self._session = f"session_{next(self._sessions)}"
        self._made: list[list[list[str]]] = [[]]
        *before, last = self._problem.turns[0]
        *system, framed = self.prompt_template.conversation(last.content)
        return declaring((*system, *before, framed), self._problem.tools)

    def respond(self, instance: TaskInstance, conversation: Conversation) -> Outcome:
        problem, calls = self._problem, conversation[-1].tool_calls
        if calls:
            step = [as_source(call, self._callable) for call in calls]
            self._made[-1].append(step)
            found = self._ask(steps=[step for turn in self._made for step in turn])
            if "failed" in found:
                return Outcome(info={"note": found["failed"]})
            # a result may repeat a lone surrogate of the call
            results = [result.encode(errors="replace").decode() for result in found["results"]]
            messages = tuple(Message(role="tool", content=result) for result in results)
            if len(self._made[-1]) <= MOST_STEPS:
                return Outcome(messages, done=False)
            return Outcome(messages, info={"note": f"more than {MOST_STEPS} steps in a turn"})
        if (turn := len(self._made)) < len(problem.turns):
            self._made.append([])
            return Outcome(self._next(turn), done=False)
        found = self._ask(turns=self._made, gold=problem.gold)
        valid = bool(found.get("valid"))
        note = {} if valid else {"note": found.get("why", found.get("failed", ""))}
        return Outcome(reward=float(valid), was_correct=valid, info=note)

    def _next(self, turn: int) -> tuple[Message, ...]:
        if not (more := self._problem.withheld.get(turn)):
            return self._problem.turns[turn]
        listed = to_json([as_function(tool)["function"] for tool in more])
        return (Message(role="user", content=f"{listed}\n{self._more_tools}"),)

    def _ask(self, **request: Any) -> Any:
        """The answer; if the student's calls are why there is none, the reason is in "failed".

        Raises:
            EvaluationError: if the process cannot run the gold calls either.
        """
        asked = {"session": self._session, "entry": self._problem.entry.model_dump(mode="json")}
        try:
            return self._checkout.ask(asked | request)
        except EvaluationError as error:
            gold = [[[*calls]] if calls else [] for calls in self._problem.gold]
            alone = {"session": f"{self._session}_gold", "turns": gold, "gold": self._problem.gold}
            self._checkout.ask(asked | alone)
            return {"failed": str(error)}


class MultiTurnDomain(Domain):
    """Conversations are played and judged by the clone; they are not taught."""

    asks_others = False
    record_forms = ("tool",)

    def __init__(self, checkout: Checkout, more_tools: str, options: PromptOptions) -> None:
        self.prompt_template = options.prompt
        self.checkout, self.more_tools = checkout, more_tools

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> MultiTurnEnvironment:
        return MultiTurnEnvironment(instances, self)

    def gold_record(self, instance: TaskInstance) -> None:
        return None


@dataclass(frozen=True, kw_only=True)
class MultiTurnOptions(TaskOptions, RowOptions, PromptOptions):
    """Options of `BFCLMultiTurnTask`.

    Attributes:
        checkout: the folder `berkeley-function-call-leaderboard` of a clone of
            ShishirPatil/gorilla; it has the problems, the tools and the checker.
        category: base, miss_func, miss_param, long_context, or all of them.
        name: of the task.
    """

    checkout: str | Path
    category: Category = "all"
    name: str = "bfcl_multi_turn"


class BFCLMultiTurnTask(Task):
    """The multi-turn files of the Berkeley Function Calling Leaderboard."""

    @takes(MultiTurnOptions)
    def __init__(self, options: MultiTurnOptions) -> None:
        prompts = "bfcl_eval/constants/default_prompts.py"
        checkout = Checkout(
            options.checkout,
            bfcl_process,
            (_DATA, prompts, "bfcl_eval/eval_checker/multi_turn_eval"),
            "the folder berkeley-function-call-leaderboard of a clone of "
            "https://github.com/ShishirPatil/gorilla",
        )
        more = _constant(
            checkout.folder / prompts, "DEFAULT_USER_PROMPT_FOR_ADDITIONAL_FUNCTION_FC"
        )
        domain = MultiTurnDomain(checkout, more, options)
        source = RowSource(
            checkout.folder,
            partial(_instance, task=options.name),
            options,
            name=options.name,
            overlap_key=domain.overlap_key,
            rows=partial(_rows, category=options.category),
        )
        self.set_up(source, domain, options)


def _constant(path: Path, name: str) -> Any:
    """The value that BFCL's source gives to a name with this end."""
    for node in parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith(name):
            return ast.literal_eval(node.value)
    raise ConfigurationError(f"{path} has no {name}: BFCL has changed since commit 6ea5797")


def _rows(place: Path | HubDataset, *, category: Category) -> Iterator[SourceRow]:
    """The rows of a category, with their gold calls and the descriptions of their tools."""
    assert isinstance(place, Path)
    data = place / _DATA
    documents: dict[str, list[dict[str, Any]]] = {}
    files = _constant(place / "bfcl_eval/constants/executable_backend_config.py", "FILE_MAPPING")
    for name in get_args(Category)[:-1]:
        if category not in (name, "all"):
            continue
        newest = data / f"BFCL_v4_multi_turn_{name}.json"
        (path,) = files_in(
            min(data.glob(f"BFCL_v*_multi_turn_{name}.json"), default=newest), "BFCL"
        )
        (answers,) = files_in(data / "possible_answer" / path.name, "BFCL")
        gold = {
            row.values.get("id"): row.values for row in rows_of_lines(answers, "", str(answers))
        }
        for row in rows_of_lines(path, path.stem, str(path)):
            tools = []
            for kind in row.values.get("involved_classes", ()):
                if kind not in documents:
                    name_of = files.get(kind, f"{kind}.json")
                    (file,) = files_in(data / "multi_turn_func_doc" / name_of, "BFCL")
                    documents[kind] = [r.values for r in rows_of_lines(file, "", str(file))]
                tools += documents[kind]
            values = {"row": row.values, "tools": tools, "gold": gold.get(row.values.get("id"))}
            yield SourceRow(row.id, row.where, values | {"category": name})


def _instance(row: SourceRow, *, task: str) -> TaskInstance:
    """The conversation in a row of `_rows`."""
    given: Mapping[str, Any] = row.values["row"]
    try:
        described = map(Function.model_validate, row.values["tools"])
        tools = {function.name: function.tool for function in described}
        withheld = {
            int(turn): tuple(tools[name] for name in names)
            for turn, names in given.get("missed_function", {}).items()
        }
        values = {
            "entry": {name: given[name] for name in Entry.model_fields},
            "withheld": withheld,
            "tools": tuple(
                tool for tool in tools.values() if not any(tool in w for w in withheld.values())
            ),
            "turns": given["question"],
            "gold": row.values["gold"]["ground_truth"],
        }
    except (KeyError, TypeError, ValueError) as error:
        raise UnfitRowError(f"{row.where} is not in BFCL's form: {error!r}") from None
    problem = parsed(MultiTurnProblem, values, row.where, UnfitRowError)
    said = "\n".join(m.content for turn in problem.turns for m in turn if m.role == "user")
    category = row.values["category"]
    return TaskInstance(
        id=problem.entry.id,
        task=task,
        instruction=said,
        skill=category,
        category=category,
        data=problem.model_dump(mode="json", exclude_defaults=True),
    )
