"""Sotopia's judge: one question about all seats, with the wording and ranges of the user's clone.

The question has the whole scene in Sotopia's form: context, turns and actions, then what Sotopia
asks, and the JSON schema of the reply. The sentences and the texts of the dimensions are read from
the sources of Sotopia's package (`EpisodeLLMEvaluator`, `SotopiaDimensions`), which are not run:

    {"evaluations": {"agent_1": {"believability": {"reasoning", "score"}, ...}, "agent_2": ...}}
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, create_model

from dataenvgym.domains.social.actions import ActionKind
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.profiles import Character
from dataenvgym.domains.social.scene import Cast, Event, SceneState
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Conversation, Message
from dataenvgym.tasks.judging.verdicts import Schema, verdict_schema
from dataenvgym.tasks.scoring.code.syntax import parse

INSTALLED = "sotopia"
"""The value of `judge_prompt` for the installed package."""
_EVALUATORS = "envs/evaluators.py"
_DIMENSIONS = "database/evaluation_dimensions.py"
_ADJECTIVES = {"Man": "male", "Woman": "female", "Nonbinary": "nonbinary"}
_NAMES = {"financial_and_material_benefits": "financial_and_material"}


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class SotopiaJudge:
    """The question and the form of the reply.

    Args:
        where: "sotopia" for the installed package, or a clone of sotopia-lab/sotopia.

    Attributes:
        verdict: what the judge replies, with `evaluations` by agent.

    Raises:
        ConfigurationError: if Sotopia's sources are not there, or have another shape.
    """

    def __init__(self, where: str | Path) -> None:
        spec = importlib.util.find_spec(INSTALLED) if str(where) == INSTALLED else None
        installed = list((spec and spec.submodule_search_locations) or ())
        folder = Path(installed[0]) if installed else Path(where).expanduser() / INSTALLED
        asks, scores = (_tree(folder / name) for name in (_EVALUATORS, _DIMENSIONS))
        try:
            self._template, self._instruction = _question_parts(asks)
            self._dimensions = dimensions = _dimensions_model(scores)
        except (LookupError, ValueError, StopIteration) as error:
            raise ConfigurationError(
                f"the judge in {folder} is not in the form of Sotopia's commit a0aaafb: {error!r}"
            ) from error
        self.verdict: type[BaseModel] = create_model(
            f"EvaluationForAgents[{dimensions.__name__}]",
            __base__=_Strict,
            evaluations=(dict[str, dimensions], ...),  # type: ignore[valid-type]
        )

    def question(self, state: SceneState) -> Conversation:
        """The question about a scene that is over."""
        seats = len(state.cast.seats)
        keys = ", ".join(f'"agent_{seat + 1}"' for seat in state.cast.seats)
        values = {
            "agent_instruction": "".join(
                part if isinstance(part, str) else part(str(seats), keys)
                for part in self._instruction
            ),
            "format_instructions": json.dumps(self.verdict.model_json_schema()),
            "history": "\n".join(history(state)),  # last: nothing that is said is replaced in it
        }
        text = _plain(self._template)
        for name, value in values.items():
            text = text.replace(f"{{{name}}}", value)
        return (Message(role="user", content=text),)

    def schema(self, seats: int) -> Schema:
        """The JSON schema for servers that enforce one; in it the agents have fixed names."""
        agents: dict[str, Any] = {
            f"agent_{n}": (self._dimensions, ...) for n in range(1, seats + 1)
        }
        named = create_model("Agents", __base__=_Strict, **agents)
        return verdict_schema(
            create_model("Evaluations", __base__=_Strict, evaluations=(named, ...))
        )

    def scores(self, verdict: Any, seat: int) -> dict[str, tuple[int, str]] | None:
        """The score and the reasoning of each dimension of a seat; None if the judge left it out.

        As in Sotopia, the agents are told apart by their order.
        """
        agents = list(verdict.evaluations.values())
        if seat >= len(agents):
            return None
        found = {_NAMES.get(name, name): value for name, value in agents[seat]}
        return {name: (found[name].score, found[name].reasoning) for name in DIMENSIONS}


def history(state: SceneState) -> Iterator[str]:
    """The scene as Sotopia's judge reads it: the context, then each turn with its actions."""
    cast = state.cast
    yield _context(cast)
    for turn in range(state.n_turns):
        yield f"Turn #{turn + 1}"
        for event in state.events:
            if event.turn == turn and not event.note:
                yield f"{cast.names[event.seat]} {_action(event, cast)}"


def _context(cast: Cast) -> str:
    names = cast.names
    named = " and ".join(names) if len(names) < 3 else f"{', '.join(names[:-1])}, and {names[-1]}"
    goals = [" ".join([goal.text, *(h.text for h in goal.hints)]) for goal in cast.scene.goals]
    backgrounds = [
        f"{who}'s background: {_bio(one)}" for who, one in zip(names, cast.characters, strict=True)
    ]
    wanted = [f"{who}'s goal: {goal}" for who, goal in zip(names, goals, strict=True)]
    parts = ["\n".join(lines).strip() for lines in (backgrounds, wanted)]
    opening = f"Here is the context of this interaction:\nScenario: {cast.scene.scenario}"
    return _plain("\n".join([opening, f"Participants: {named}", *parts]))


def _bio(one: Character) -> str:
    return (
        f"{one.first_name} {one.last_name} is a {one.age}-year-old "
        f"{_ADJECTIVES.get(one.gender, '')} {one.occupation.lower()}. {one.pronouns} pronouns. "
        f"{one.public_information} Personality and values description: {one.personality} "
        f"{one.first_name}'s secrets: {one.secret}"
    )


def _action(event: Event, cast: Cast) -> str:
    kind, argument = event.action.kind, event.action.argument
    private = f"[private to {[cast.names[seat] for seat in event.to]}] " if event.to else ""
    if kind is ActionKind.SPEAK:
        return f'{private} said: "{argument}"'
    if kind is ActionKind.LEAVE:
        return f"{private} left the conversation"
    return f"{private} [{kind.value}] {argument}"


def _plain(text: str) -> str:
    """The text without the indentation of its lines."""
    return re.sub("\n +", "\n", text).strip()


# --- reading Sotopia's sources --------------------------------------------------------------------


def _tree(path: Path) -> ast.Module:
    if not path.is_file():
        raise ConfigurationError(
            f"judge_prompt needs Sotopia's sources, and there is no {path}: give 'sotopia' for the "
            "installed package (pip install sotopia), or the folder of a clone of "
            "https://github.com/sotopia-lab/sotopia"
        )
    return parse(path.read_text(encoding="utf-8"))


Part = str | Callable[[str, str], str]


def _question_parts(tree: ast.Module) -> tuple[str, list[Part]]:
    """The template, and the parts of the sentence on the agents: texts, their number, the keys."""
    template = [
        word.value.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "template" and isinstance(word.value, ast.Constant)
    ]
    parts: list[Part] = []

    def read(node: ast.expr) -> None:
        if isinstance(node, ast.BinOp):
            read(node.left)
            read(node.right)
        elif isinstance(node, ast.Constant):
            parts.append(str(node.value))
        elif isinstance(node, ast.Call):
            is_number = isinstance(node.func, ast.Name) and node.func.id == "str"
            parts.append(lambda number, keys: number if is_number else keys)

    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.value, ast.BinOp)
            and [ast.unparse(target) for target in node.targets] == ["agent_instruction"]
        ):
            read(node.value)
    (text,) = template
    if not parts:
        raise ValueError("no sentence on the agents")
    return str(text), parts


def _dimensions_model(tree: ast.Module) -> type[BaseModel]:
    """The model of an agent's scores: `SotopiaDimensions`, with its score classes."""
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    checks = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    of = classes["SotopiaDimensions"]
    models: dict[str, type[BaseModel]] = {}
    fields: dict[str, Any] = {}
    for name, kind, about in _fields(of):
        if kind not in models:
            models[kind] = _score_model(classes[kind], checks)
        fields[name] = (models[kind], Field(description=about))
    return create_model(of.name, __base__=_Strict, __doc__=ast.get_docstring(of), **fields)


def _score_model(of: ast.ClassDef, checks: dict[str, ast.FunctionDef]) -> type[BaseModel]:
    """A model with reasoning and score; the range is that of the function that checks it."""
    called = {
        node.func.id
        for node in ast.walk(of)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    } & {*checks}
    low, high = (
        int(ast.literal_eval(node.comparators[0]))
        for node in ast.walk(checks[called.pop()])
        if isinstance(node, ast.Compare)
    )
    kinds: dict[str, Any] = {
        "str": str,
        "int": Annotated[int, AfterValidator(partial(_within, low, high))],
    }
    fields: dict[str, Any] = {
        name: (kinds[kind], Field(description=about)) for name, kind, about in _fields(of)
    }
    return create_model(of.name, __base__=_Strict, **fields)


def _within(low: int, high: int, score: int) -> int:
    if not low <= score <= high:
        raise ValueError(f"the score is {score}, expected {low} to {high}")
    return score


def _fields(of: ast.ClassDef) -> Iterator[tuple[str, str, str]]:
    """Name, type and description of each field of a class."""
    for node in of.body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.value, ast.Call):
            about = next(word.value for word in node.value.keywords if word.arg == "description")
            yield ast.unparse(node.target), ast.unparse(node.annotation), ast.literal_eval(about)
