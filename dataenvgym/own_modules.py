"""Imports the modules that users name, such as `agent=my_module.MyAgent`.

The current folder is searched after all installed packages, and only once a name needs it. So a
file beside a received run, such as `gmpy2.py`, is not imported where a library looks for an
optional module.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec
from types import ModuleType


def import_own(name: str) -> ModuleType:
    """Import a module, from the current folder if it is not installed.

    Raises:
        ImportError: as `importlib.import_module`.
    """
    top, here = name.partition(".")[0], os.getcwd()
    is_found = top in sys.modules or find_spec(top) is not None
    if not is_found and PathFinder.find_spec(top, [here]) is not None:
        sys.path.append(here)  # for good: the module may import its neighbors later
    return import_module(name)
