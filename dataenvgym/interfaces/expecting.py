"""Refuses what does not fit a protocol, at the place where a user passes it in."""

from __future__ import annotations

from dataenvgym.errors import ConfigurationError


def expect(value: object, protocol: type, name: str) -> None:
    """Refuse a value without the protocol's methods, and a class in place of an object.

    Args:
        name: of the argument.

    Raises:
        ConfigurationError: with the methods that are missing.
    """
    if isinstance(value, type):
        raise ConfigurationError(
            f"{name} is the class {value.__name__}, expected an object: {value.__name__}(...)"
        )
    methods = [method for method in dir(protocol) if not method.startswith("_")]
    missing = [method for method in methods if not callable(getattr(value, method, None))]
    if missing:
        raise ConfigurationError(
            f"{name} is {value!r:.80}, expected an object with {', '.join(methods)} (see "
            f"{protocol.__name__}); it has no {', '.join(missing)}"
        )
