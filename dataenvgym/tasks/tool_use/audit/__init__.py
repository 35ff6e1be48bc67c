"""Checks a world and its problems: each problem must be solvable, and not solvable by chance.

    loads         the world can pose the problem, and its gold calls succeed
    gold          the gold calls, and the words that go with them, earn the full reward
    same twice    the gold calls and the random ones, played twice, give the same results and
                  state; no tool reads a clock
    nothing       doing nothing earns 0
    argument      a gold plan with one argument of a writing call changed earns 0
    random calls  50 random legal calls earn 0; if they changed the state, also with the right words
    verifier      a verifier that drops a component, flips an assertion or omits a required fact
                  is noticed: at least one attempt at one problem gets another score
    tools         tools raise only ToolError, and reading tools do not change the state

`audit` runs all checks and lists the violations; `audited` refuses problems with violations.

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
