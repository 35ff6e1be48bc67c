"""Verdicts: any pydantic model, its JSON schema, and parsing a judge's reply into it.

    class Politeness(Model):
        reason: str
        score: int = Field(ge=0, le=10)

    read_verdict('{"reason": "says please", "score": 9}', Politeness)

A verdict is the whole reply. JSON within prose is refused, because a judge may quote JSON of the
text that it judges. JSON is repaired if its meaning is clear (see `llm.repair`); then it is parsed
strictly. Refused are a number out of range, text instead of a number, an extra or a repeated field,
and a missing end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import orjson
from pydantic import BaseModel, ValidationError

from dataenvgym.errors import ConfigurationError, SpeakerError, escaped, shorten
from dataenvgym.records import Model, Text
from dataenvgym.records.instances import INFRASTRUCTURE
from dataenvgym.teachers.repair import json_alone

VerdictT = TypeVar("VerdictT", bound=BaseModel)
Schema = dict[str, Any]
_LEFT_OUT = ("title", "default", "$defs")


class AnswerVerdict(Model):
    """Whether an answer is right, and why; the prompt `knowledge_answer` asks for it."""

    reason: Text
    is_right: bool


@dataclass(frozen=True)
class Unscored:
    """No verdict, and the reason; it is counted separately, never as a low score.

    Attributes:
        outage: whether the judge was out of reach.
    """

    reason: str
    outage: bool = False

    def error(self, who: str = "judge") -> SpeakerError:
        """The error for a task environment that needs the verdict.

        The instance then has an error under the judge's name, or that of the infrastructure:
        neither right nor wrong.
        """
        return SpeakerError(f"{who}: {self.reason}", fault=INFRASTRUCTURE if self.outage else None)


def read_verdict(text: str, verdict: type[VerdictT]) -> VerdictT | str:
    """The verdict in a judge's reply, or why there is none, in words that the judge can act on."""
    names = ", ".join(sorted(field.alias or name for name, field in verdict.model_fields.items()))
    try:
        found = json_alone(text)
    except ValueError as error:
        return f"{error} (expected the fields {names})"
    try:
        return verdict.model_validate_json(orjson.dumps(found), strict=True)  # noqa: TID251
    except (TypeError, RecursionError) as error:  # numbers over 64 bits
        return f"it cannot be read: {error}"
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the verdict"
        value = escaped(repr(first["input"]))
        return f"{where}: {first['msg']}, found {shorten(value)}"


@lru_cache(maxsize=256)
def verdict_schema(verdict: type[BaseModel]) -> Schema:
    """The JSON schema of a verdict in the form of servers' strict mode; not to be changed.

    References are resolved, every property is required, and no others are allowed.

    Raises:
        ConfigurationError: for a model that contains itself, which has no such schema.
    """
    schema = verdict.model_json_schema()
    resolved: Schema = _resolved(schema, schema.get("$defs", {}), ())
    return resolved


def _resolved(part: Any, models: Mapping[str, Any], within: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_resolved(item, models, within) for item in part]
    if not isinstance(part, dict):
        return part
    if "$ref" in part:
        name = part["$ref"].rpartition("/")[2]
        if name in within:
            raise ConfigurationError(
                f"the verdict {name} contains itself, so it has no schema that a server could hold "
                "a judge to: give it a depth"
            )
        return _resolved(models[name], models, (*within, name))
    if "properties" not in part:
        return {k: _resolved(v, models, within) for k, v in part.items() if k not in _LEFT_OUT}
    own = {k: v for k, v in part.items() if k not in (*_LEFT_OUT, "properties")}
    properties = {n: _resolved(v, models, within) for n, v in part["properties"].items()}
    return {
        **own,
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }
