"""The options of a class: names, types, defaults and explanations, each written once.

They are the keyword parameters of its constructor, with the entries of `Args` or `Attributes` in
its docstring. The configuration is filled in from them, and `dataenvgym config` prints them. Three
annotations say more about an option:

    concurrency: Free[int] = 32          # does not change results: may differ when a run resumes
    split: Given[Split] = "validation"   # the program passes it: it is not in a configuration
    template: PlainText[str] = ""        # harmless text: never a path, a server, a name of code

Bounds are in the type, and the configuration's values are held against them: pydantic's
`PositiveInt`, `NonNegativeFloat`, `Share`, `Annotated[int, Ge(2)]`, `Literal["fast", "slow"]`.

Options that several classes share are a group, a frozen dataclass. Groups inherit from each other,
and `takes` gives a constructor the keywords of a group:

    @dataclass(frozen=True, kw_only=True)
    class ColorOptions(PromptOptions):
        '''Attributes:
            dark: leave out light colors.
        '''
        dark: bool = False

    class ColorTask(Task):
        @takes(ColorOptions)
        def __init__(self, options: ColorOptions) -> None: ...

    ColorTask(dark=True, system_prompt="Be brief.")
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache, wraps
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from annotated_types import Ge, Le
from pydantic import BaseModel

from dataenvgym.errors import ConfigurationError, did_you_mean

ValueT = TypeVar("ValueT")
Free = Annotated[ValueT, "free"]
"""An option that does not change results."""
Given = Annotated[ValueT, "given"]
"""An argument that the program passes."""
PlainText = Annotated[ValueT, "text"]
"""A text that is used as text only, so a received folder may choose it (see `config.received`)."""

Share = Annotated[float, Ge(0), Le(1)]
"""A number from 0 to 1. Other bounds are pydantic's types, or `Annotated[int, Ge(2)]`."""

P = ParamSpec("P")
SelfT = TypeVar("SelfT")
GroupT = TypeVar("GroupT")

_ENTRY = re.compile(r"(?P<names>\w+(, \w+)*): (?P<text>.*)", re.DOTALL)
_POINTS_ELSEWHERE = re.compile(r"(see|as for|as in|those of) ")
_PLAIN = (bool, int, float, str, Path, list, dict, tuple, set, frozenset)
_VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
_NOT_PLAIN = object()
_GENERIC = (*_PLAIN, Sequence, Collection, Set, Mapping, Literal)


def takes(
    group: Callable[P, GroupT],
) -> Callable[[Callable[[SelfT, GroupT], None]], Callable[Concatenate[SelfT, P], None]]:
    """Let a constructor that takes a group be called with the arguments of the group."""

    def keywords(init: Callable[[SelfT, GroupT], None]) -> Callable[Concatenate[SelfT, P], None]:
        signature = inspect.signature(group)

        @wraps(init)
        def __init__(self: SelfT, *args: P.args, **options: P.kwargs) -> None:
            init(self, group(*args, **options))

        me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        own: Any = __init__
        own.__signature__ = signature.replace(parameters=[me, *signature.parameters.values()])
        own.group = group
        return own  # type: ignore[no-any-return]

    return keywords


def taken_from(options: dict[str, Any], group: Callable[..., GroupT]) -> GroupT:
    """Take the options of a group out of `options`, and make the group of them."""
    names = inspect.signature(group).parameters
    return group(**{name: options.pop(name) for name in [*options] if name in names})


def refuse_unknown(options: Collection[str], group: type, whose: str) -> None:
    """Refuse keywords that a TypedDict does not have; Python itself does not check them.

    Raises:
        ConfigurationError: naming the first of them.
    """
    for name in options:
        if name not in (known := get_type_hints(group)):
            raise ConfigurationError(f"{whose} has no option {name!r}.{did_you_mean(name, known)}")


@dataclass(frozen=True)
class Option:
    """An option of a class.

    Attributes:
        default: its default in a configuration: a plain value, or options by name; "???" if it must
            be given.
        is_free: whether it does not change results.
        about: the explanation; "" if it is that of the option before it.
    """

    default: Any
    is_free: bool
    about: str


@cache
def options_of(target: Callable[..., Any]) -> Mapping[str, Option]:
    """The options of a class or function that may be in a configuration, by name."""
    abouts = explanations(target)
    found: dict[str, Option] = {}
    last = ""
    for name, (default, hint) in parameters_of(target)[0].items():
        if "given" in marks(hint):
            continue
        if default is not inspect.Parameter.empty:
            default = _configured(default, hint)
        else:
            default = "???" if _is_plain(hint) else _NOT_PLAIN
        if default is not _NOT_PLAIN:
            about = abouts.get(name, "")
            found[name] = Option(default, "free" in marks(hint), "" if about == last else about)
            last = about
    return found


@cache
def parameters_of(target: Callable[..., Any]) -> tuple[Mapping[str, tuple[Any, Any]], bool]:
    """The default and type of each keyword parameter, and True if it takes any others.

    What a constructor takes as `**options` are the parameters of its base class, and of the class
    that its attribute `passes_options_to` names. A type that is unknown is Any.
    """
    try:
        parameters = inspect.signature(target).parameters
    except (TypeError, ValueError):  # some classes written in C have no signature
        return {}, True
    hints, group = hints_of(target), _group(target)
    every = fields(group) if group else ()
    factories = {f.name: f.default_factory for f in every if f.default_factory is not MISSING}
    found = {
        name: (
            factories[name]() if name in factories else parameters[name].default,
            hints.get(name, Any),
        )
        for name in _ordered(target, parameters)
        if parameters[name].kind not in _VARIADIC
    }
    if all(p.kind is not p.VAR_KEYWORD for p in parameters.values()):
        return found, False
    others = getattr(target, "passes_options_to", None) or _next_constructor(target)
    if others is None:
        named = next(iter(get_args(hints.get("**"))), None)  # of Unpack[Options]
        kept = get_type_hints(named, include_extras=True) if is_typeddict(named) else {}
        return {**found, **{name: (_NOT_PLAIN, kept[name]) for name in kept}}, not kept
    more, takes_others = parameters_of(others)
    return {**found, **{name: of for name, of in more.items() if name not in found}}, takes_others


def _next_constructor(target: Any) -> type | None:
    """The base whose constructor gets what this one does not name; None without one."""
    mro = inspect.getmro(target) if isinstance(target, type) else ()
    makers = [base for base in mro if "__init__" in vars(base) and base is not object]
    return makers[1] if len(makers) > 1 else None


def _group(target: Any) -> Any:
    """The group that a class takes, or the class itself if it is one; else None."""
    owner = next((c for c in getattr(target, "__mro__", ()) if "__init__" in vars(c)), object)
    group = getattr(owner.__init__, "group", owner)
    return group if "__dataclass_fields__" in vars(group) else None


def _ordered(target: Any, names: Collection[str]) -> list[str]:
    """The names, those of a group before those of its bases."""
    groups = (each for each in inspect.getmro(_group(target) or object) if is_dataclass(each))
    own = dict.fromkeys(name for each in groups for name in vars(each)["__annotations__"])
    return [*(n for n in own if n in names), *(n for n in names if n not in own)]


def hints_of(target: Callable[..., Any]) -> dict[str, Any]:
    """The annotations of a constructor's or function's parameters; unknown ones are left out."""
    if isinstance(target, type) and issubclass(target, BaseModel):
        return {
            n: Annotated[f.annotation, "field", *f.metadata] for n, f in target.model_fields.items()
        }
    if (group := _group(target)) is not None:
        return get_type_hints(group, include_extras=True)
    function: Any = getattr(target, "__init__", target) if isinstance(target, type) else target
    names = getattr(inspect.unwrap(function), "__globals__", {})
    found = {}
    for parameter in inspect.signature(target).parameters.values():
        if parameter.annotation is not parameter.empty:
            written = SimpleNamespace(__annotations__={"it": parameter.annotation})
            name = "**" if parameter.kind is parameter.VAR_KEYWORD else parameter.name
            try:
                found[name] = get_type_hints(written, names, include_extras=True)["it"]
            except (NameError, TypeError, SyntaxError):  # such as a name for type checks only
                continue
    return found


def marks(hint: Any) -> tuple[Any, ...]:
    """The annotations of a type, such as those of `Free`."""
    return getattr(hint, "__metadata__", ())


@cache
def explanations(target: Any) -> Mapping[str, str]:
    """The entries in the docstrings of a class, its bases and its group, by name of the option.

    An entry "see ..." or "as for ..." counts only if no base or group explains the name.
    """
    bases = getattr(target, "__mro__", (target,))
    passed = inspect.getmro(getattr(target, "passes_options_to", object))
    sources = [bases[0], *inspect.getmro(_group(target) or object), *bases[1:], *passed]
    found: dict[str, str] = {}
    for source in sources:
        for names, text in _entries(inspect.cleandoc(vars_doc(source))):
            for name in names:
                if name not in found or _POINTS_ELSEWHERE.match(found[name]):
                    found[name] = text
    return found


def vars_doc(source: Any) -> str:
    """The docstring of the class itself, not of a base."""
    own = vars(source).get("__doc__") if isinstance(source, type) else source.__doc__
    return own if isinstance(own, str) else ""


def _entries(docstring: str) -> Iterator[tuple[list[str], str]]:
    if re.match(r"(Args|Attributes):\n(?! )", docstring):  # no summary, so `cleandoc` dedents more
        heading, _, rest = docstring.partition("\n")
        docstring = f"{heading}\n{textwrap.indent(rest, '    ')}"
    for section in re.findall(r"^(?:Args|Attributes):\n((?:    .*\n|\n)+)", docstring + "\n", re.M):
        for entry in re.split(r"\n(?! )", textwrap.dedent(section).strip()):
            if match := _ENTRY.fullmatch(" ".join(entry.split())):
                yield match["names"].split(", "), match["text"]


def _configured(value: Any, hint: Any) -> Any:
    """A default as a plain value of the configuration, or `_NOT_PLAIN`."""
    if value is None:
        return None if _is_plain(hint) else _NOT_PLAIN
    if isinstance(value, BaseModel) or (is_dataclass(value) and not isinstance(value, type)):
        kind = type(value)
        takes_mapping = any(get_origin(part) is Mapping for part in _parts(hint))
        made_by = {} if takes_mapping else {"_target_": _public_path(kind)}
        own = {name: _configured(getattr(value, name), str) for name in options_of(kind)}
        return {**made_by, **own}
    if isinstance(value, Mapping):
        return {name: _configured(inner, str) for name, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_configured(inner, str) for inner in value]
    if isinstance(value, Path):
        return str(value)
    return value if isinstance(value, bool | int | float | str) else _NOT_PLAIN


def _is_plain(hint: Any) -> bool:
    """Whether the type has plain values besides None, or is that of options by name."""
    return any(
        part in _PLAIN
        or get_origin(part) in _GENERIC
        or (isinstance(part, type) and (issubclass(part, BaseModel) or is_dataclass(part)))
        for part in _parts(hint)
    )


def _parts(hint: Any) -> Iterator[Any]:
    """The members of a union, without annotations."""
    if get_origin(hint) is Annotated:
        yield from _parts(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for part in get_args(hint):
            yield from _parts(part)
    elif hint is not NoneType:
        yield hint


def _public_path(kind: type) -> str:
    """The class as configurations name it: in the package that exports it, if one does."""
    import importlib

    package = kind.__module__.rpartition(".")[0]
    exports = getattr(importlib.import_module(package), kind.__name__, None) if package else None
    return f"{package if exports is kind else kind.__module__}.{kind.__qualname__}"
