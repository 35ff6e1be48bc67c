"""The base of all records: a frozen model, and the text and JSON that it may contain."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from dataenvgym import exact_json

_NOT_SHOWN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Model(BaseModel):
    """Frozen, and strict about names: an unknown field is an error, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"no Unicode text: {error.reason} at position {error.start}") from None
    return text


def escaped(text: str) -> str:
    r"""The text with lone surrogates and control characters (except `\n`, `\t`) as `\x1b`."""
    return _NOT_SHOWN.sub(lambda found: ascii(found[0])[1:-1], text)


def _plain_json(value: Any) -> Any:
    if type(value) is str and value.isascii():
        return value
    try:
        same = exact_json.loads(exact_json.dumps(value)) == value
    except (TypeError, ValueError) as error:
        raise ValueError(f"no JSON that every reader has: {error}") from None
    if not same:
        raise ValueError("no JSON that every reader has: NaN or infinity in it")
    return value


Text = Annotated[str, AfterValidator(_encodable)]
"""Any Unicode text; lone surrogates are not allowed."""
Note = Annotated[str, AfterValidator(escaped)]
"""Text from any source, made safe to show: characters that are not text are escaped."""
Finite = Annotated[float, Field(allow_inf_nan=False)]
"""A number in JSON: neither NaN nor infinite."""
Json = Annotated[JsonValue, AfterValidator(_plain_json)]
"""A JSON value; its numbers are finite, and integers may have up to 4,300 digits."""
