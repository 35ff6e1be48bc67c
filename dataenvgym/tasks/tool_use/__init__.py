"""The domain of tool use: the student calls tools, which change a world, and perhaps asks a user.

state         State: the facts of a world, with copy-on-write Tables of Rows
digest        a hash that is the same for equal states
world         World: typed methods marked as tools, with the state that they read and write
schemas       from a method's signature and docstring to its Tool and the check of its arguments
time_limit    ends tool code that runs too long
problem       ToolUseProblem: the data of an instance: gold calls, the user, the basis of its score
loaders       files of problems
prepared      a problem with its world, ready to be put many times
components    the parts of the score, multiplied over the basis
said          whether a text tells a user the required facts
users         the user on the other side: scripted, played by a model, or none
user_seat     the user in one conversation
user_rules    what a user played by a model has to keep
user_judge    a judge where rules cannot decide
conversation_progress
              the progress of one conversation
environment   ToolUseEnvironment: one conversation
domain        ToolUseDomain: how problems of a world are put, judged and taught
task          ToolUseTask: problems from files, or those that come with a world
worlds        the worlds that come with the package, and their problems
audit         proves a world and its problems
plans         a family of its own: which tools, in which order, with which arguments
matching      whether calls are the gold ones: strictly, or leniently as BFCL compares them
values        the same for the value of one argument
calls         problems whose answer is the calls themselves: BFCL, API-Bank
tau2          the domains of Sierra's tau2-bench, from the user's own copy
"""

from dataenvgym.tasks.tool_use.state import Row, State, Table
from dataenvgym.tasks.tool_use.world import CallResult, ToolError, World, check, tool

__all__ = ["CallResult", "Row", "State", "Table", "ToolError", "World", "check", "tool"]
