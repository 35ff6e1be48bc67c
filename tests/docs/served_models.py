"""A server that plays every model that a page names: teacher, judge, user, partner, student."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

from tests.agents.skills.serving import serving

SAID = "#### 3"
"""What is said where no form is asked for: an answer, an offer, a message of a user."""


@contextmanager
def served_models() -> Iterator[str]:
    """The URL of a server with OpenAI's API, whose replies have the form that was asked for."""
    numbers = count()

    def answer(path: str, payload: dict[str, Any]) -> tuple[int, object]:
        form = payload.get("response_format")
        text = SAID
        if form:
            schema = form["json_schema"]["schema"]
            text = json.dumps(_example(schema, schema.get("$defs", {}), numbers))
        message = {"role": "assistant", "content": text}
        usage = {"prompt_tokens": 10, "completion_tokens": 10}
        return 200, {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}

    with serving(answer) as url:
        yield url


def _example(schema: dict[str, Any], defined: dict[str, Any], numbers: Iterator[int]) -> Any:
    """A value that fits the JSON schema; no two texts are alike."""
    if "$ref" in schema:
        return _example(defined[schema["$ref"].rpartition("/")[2]], defined, numbers)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if options := schema.get("anyOf", schema.get("oneOf")):
        return _example(options[0], defined, numbers)
    kind = schema.get("type")
    if kind == "object":
        wanted = schema.get("properties", {})
        return {name: _example(part, defined, numbers) for name, part in wanted.items()}
    if kind == "array":
        n = max(schema.get("minItems", 0), min(schema.get("maxItems", 4), 4))
        return [_example(schema.get("items", {}), defined, numbers) for _ in range(n)]
    if kind in ("integer", "number"):
        return schema.get("minimum", schema.get("exclusiveMinimum", 0) + 1)
    if kind == "boolean":
        return True
    return f"Text {next(numbers)}: how much is {next(numbers)} and 1? #### 3"
