"""Suggests overrides for flags that should be options of the configuration: `--iterations 3`."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.errors import ConfigurationError


def as_override(flag: str, argv: Sequence[str], *, name: str = "config") -> str | None:
    """The override that a flag was meant for, such as "episode.iterations=3"; None if unknown.

    Args:
        flag: as typed, "--iterations" or "--iterations=3".
        argv: the whole command line; the next word may be the value.
        name: the configuration of the command.
    """
    typed, equals, value = flag.partition("=")
    key = typed.lstrip("-").replace("-", "_")
    target = _option(key, name)
    if target is None:
        return None
    following = list(argv)[list(argv).index(flag) + 1 :]
    if not equals and following and "=" not in following[0] and not following[0].startswith("--"):
        value = following[0]
    return f"{target}={value or 'VALUE'}"


def is_option(key: str) -> bool:
    """Whether there is a group or an option with that key, at the top of a configuration."""
    from dataenvgym.config.composition import compose, options_by_group

    if key in options_by_group():
        return True
    return any(key in compose(allow_missing=True, name=name) for name in ("config", "eval"))


def _option(key: str, name: str) -> str | None:
    """The group or the option with this name; of several, the one with the fewest sections."""
    from dataenvgym.config.composition import compose, options_by_group
    from dataenvgym.config.overrides import keys_of

    groups = options_by_group()
    if key in (*groups, "model"):
        return key
    try:
        known = list(keys_of(compose(allow_missing=True, name=name)))
    except ConfigurationError:
        return None
    found = [o for o in known if _last(o) == key] or [o for o in known if f"{_last(o)}s" == key]
    if not found and len(key) > 2:  # `--records` for agent.records_per_iteration
        found = [option for option in known if _last(option).startswith(f"{key}_")]
    return min(found, key=lambda option: (option.count("."), known.index(option)), default=None)


def _last(option: str) -> str:
    return option.rsplit(".", 1)[-1]
