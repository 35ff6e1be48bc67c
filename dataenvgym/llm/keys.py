"""The key of a server, from an environment variable.

It is looked up when a client is made, so that a run without it fails before any work.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from dataenvgym.errors import ConfigurationError
from dataenvgym.secrets import keep_secret

_is_needed = ContextVar("key is needed", default=True)


def key_from(variable: str | None, *, option: str = "predictor.api_key_variable") -> str | None:
    """The API key in that environment variable; None for a server without keys.

    Args:
        option: that names the variable, for the message.

    Raises:
        ConfigurationError: if the variable is not set (but not in `needing_no_keys`).
    """
    if variable is None:
        return None
    if key := os.environ.get(variable):
        keep_secret(key)
        return key
    if not _is_needed.get():
        return None
    raise ConfigurationError(
        f"the environment variable {variable} is not set: set it to your key, or set "
        f"{option} to null for a server without keys"
    )


@contextmanager
def needing_no_keys() -> Iterator[None]:
    """Within the block clients are made that will never ask, as for `run --dry`."""
    token = _is_needed.set(False)
    try:
        yield
    finally:
        _is_needed.reset(token)
