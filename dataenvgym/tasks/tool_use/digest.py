"""A hash of plain values that is the same for equal ones: 5, 5.0 and Decimal("5.00")."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from math import isfinite
from types import NoneType
from typing import Any


def digest_of(value: Any) -> str:
    """SHA-256 of the value, in hexadecimal; the same in every process."""
    text = json.dumps(_canonical(value), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def _canonical(value: Any) -> Any:
    """The value as JSON, the same for equal values in every process."""
    if type(value) in (str, int, NoneType):
        return value
    if isinstance(value, Enum):
        return _canonical(value.value)
    if isinstance(value, float | Decimal):
        if isfinite(value) and value == int(value):
            return int(value)
        return str(value.normalize() if isinstance(value, Decimal) else value)
    if isinstance(value, Mapping):
        return {_key(key): _canonical(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_canonical(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(json.dumps(_canonical(each), sort_keys=True) for each in value)
    if isinstance(value, datetime) and value.tzinfo:
        return value.astimezone(UTC).isoformat()
    if isinstance(value, int):  # True is 1
        return int(value)
    return value if isinstance(value, str | NoneType) else str(value)


def _key(key: Any) -> str:
    return key if type(key) is str else "\0" + json.dumps(_canonical(key))
