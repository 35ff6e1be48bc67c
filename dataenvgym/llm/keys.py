"""The key of a server, from an environment variable.

It is looked up when a client is made, so that a run without it fails before any work.
"""

from __future__ import annotations

import os

from dataenvgym.errors import ConfigurationError, need
from dataenvgym.secrets import keep_secret


def key_from(variable: str | None, *, option: str = "predictor.api_key_variable") -> str | None:
    """The API key in that environment variable; None for a server without keys.

    Args:
        option: that names the variable, for the message.

    Raises:
        ConfigurationError: if the variable is not set (noted in `noting_needs`).
    """
    if variable is None:
        return None
    if key := os.environ.get(variable):
        keep_secret(key)
        return key
    need(
        ConfigurationError(
            f"the environment variable {variable} is not set: set it to your key, or set "
            f"{option} to null for a server without keys"
        )
    )
    return None
