"""The small world of lamps that the tests of worlds and of tool use share."""

from ...tasks.worlds.conftest import lamps

__all__ = ["lamps"]
