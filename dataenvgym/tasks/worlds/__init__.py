"""Worlds: methods that a student calls as tools, and the state that they read and write.

state         State: the facts of a world, with copy-on-write Tables of Rows; a hash of it
world         World: methods marked as tools; its state is a `State` or a simulator's own
schemas       makes a Tool of a method's signature and docstring, and checks its arguments
time_limit    ends tool code that runs too long
audit         checks on worlds

A world knows no problems; domains pose them.
"""

from dataenvgym.tasks.worlds.state import Row, State, Table, WorldState
from dataenvgym.tasks.worlds.world import CallResult, ToolError, World, check, tool

__all__ = [
    "CallResult",
    "Row",
    "State",
    "Table",
    "ToolError",
    "World",
    "WorldState",
    "check",
    "tool",
]
