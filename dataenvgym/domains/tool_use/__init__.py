"""The domain of tool use: the student calls tools that change a world, and may talk to a user.

Worlds themselves (`World`, `State`) are in `dataenvgym.tasks.worlds`.

problem       ToolUseProblem: the data of an instance: gold calls, the user, the basis of its score;
              Prepared: a problem with its world, ready to be posed many times
components    the parts of the score, multiplied over the basis
fact_matching whether a text tells a user the required facts
users         the data of a user: scripted, played by a model, or none
user_seat     the user in one conversation, and the rules for a user that a model plays
judges        a judge for required facts in other words, and for cases that no rule decides
environment   ToolUseEnvironment: one conversation
domain        ToolUseDomain: how problems of a world are posed, judged and taught
task          ToolUseTask: problems from files, or those of a shipped world
worlds        the worlds in the package, and their problems
audit         checks a world and its problems
plans         a family of its own: which tools, in which order, with which arguments
matching      whether calls match the gold ones: strictly, or leniently as in BFCL
calls         problems whose answer is the calls themselves: BFCL, API-Bank
tau2          the domains of Sierra's tau2-bench, from the user's own copy
"""
