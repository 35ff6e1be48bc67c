"""The reference of the Python interfaces has every public part of the package."""

import pkgutil

import dataenvgym
from docs.generate.api import INTERNAL, PARTS


def test_each_part_of_the_package_is_in_the_reference_or_named_as_internal():
    parts = {module.name for module in pkgutil.iter_modules(dataenvgym.__path__)}
    documented = {part.partition(".")[0] for part in PARTS}
    assert documented.isdisjoint(INTERNAL)
    assert documented | set(INTERNAL) == parts
