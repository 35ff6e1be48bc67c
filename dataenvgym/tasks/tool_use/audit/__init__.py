"""Proves a world and its problems: a problem must be solvable, and only by solving it.

    loads         the world can put the problem, and its gold calls succeed
    gold          the gold calls, and the words that go with them, earn the full reward
    same twice    played twice, the gold calls and the random ones give the same results and state;
                  no clock is asked
    nothing       who does nothing gets 0
    argument      a gold plan with one argument of a writing call changed gets 0
    random calls  50 random legal calls get 0; if they changed anything, even with the right words
    verifier      a verifier that drops a component, flips an assertion or forgets something to be
                  said is noticed: some attempt at some problem is scored otherwise
    tools         no tool fails with anything but ToolError, or changes the state as it reads

`audit` tries all of it and lists the violations; `audited` refuses problems that have any.

violations    Violation and Audit: the checks made, and those that failed
world         `audit` and `audited`: all problems of a world
problem       the checks on one problem
legal_values  arguments that a student might give
mutations     verifiers that are wrong on purpose
impurity      finds tools that ask a clock or a source of chance
"""

from dataenvgym.tasks.tool_use.audit.violations import Audit, Violation
from dataenvgym.tasks.tool_use.audit.world import audit, audited

__all__ = ["Audit", "Violation", "audit", "audited"]
