"""The base of all records: a frozen model, and the text and JSON that it may contain.

Dictionaries and lists in a record are frozen too, because agents, students and tasks share it.
`copy.deepcopy` gives copies that can be changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NoReturn, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue

from dataenvgym import exact_json
from dataenvgym.errors import escaped


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a record or problem cannot be changed: change a copy (copy.deepcopy)")


class FrozenDict(dict[str, Any]):
    """A dictionary that cannot be changed; a deep or pickled copy is an ordinary one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class FrozenList(list[Any]):
    """A list that cannot be changed; a deep or pickled copy is an ordinary one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = clear = extend = insert = _refuse
    pop = remove = reverse = sort = _refuse

    def __reduce__(self) -> Any:
        return list, (list(self),)


def frozen(value: Any) -> Any:
    """The value with frozen dictionaries and lists, all the way down."""
    if isinstance(value, dict):
        return FrozenDict({name: frozen(each) for name, each in value.items()})
    if isinstance(value, list):
        return FrozenList([frozen(each) for each in value])
    return value


class Model(BaseModel):
    """Frozen, and strict about names: an unknown field is an error, not ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """As pydantic's; what is new is frozen, too."""
        update = update and {name: frozen(value) for name, value in update.items()}
        return super().model_copy(update=update, deep=deep)


def _encodable(text: str) -> str:
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"no Unicode text: {error.reason} at position {error.start}") from None
    return text


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
"""A JSON value whose numbers a float comes near: an integer may have 308 digits, exactly."""
T = TypeVar("T")
Frozen = Annotated[T, AfterValidator(frozen), Field(validate_default=True)]
"""That type, frozen."""
JsonObject = Frozen[dict[str, Json]]
