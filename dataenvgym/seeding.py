"""Derives random generators from one seed and a path of names; none is stored or global.

`derive_rng(seed, iteration, "agent")` gives the same stream in every process and on every machine.
Streams of different paths are independent (NumPy's `SeedSequence`).
"""

from __future__ import annotations

import hashlib

import numpy as np


def derive_seed(seed: int, *path: int | str) -> int:
    """A 63-bit seed for the given path below `seed`."""
    text = "/".join([str(seed), *(f"{type(part).__name__}:{part}" for part in path)])
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


def derive_rng(seed: int, *path: int | str) -> np.random.Generator:
    """A generator for the given path below `seed`, e.g. `derive_rng(seed, iteration, "agent")`."""
    return np.random.default_rng(derive_seed(seed, *path))
