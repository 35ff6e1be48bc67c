"""Checks a world and its problems: each problem must be solvable, and not solvable by chance.

    loads         the world can pose the problem, and its gold calls succeed
    gold          the gold calls, and the words that go with them, earn the full reward
    same twice    calls, played again, give the same results and state, also in other processes; no
                  tool asks for a clock, chance or the machine
    outside       tools change nothing but their state, and read no environment variables
    nothing       doing nothing earns 0
    argument      a gold plan with one argument of a writing call changed earns 0
    order         two neighboring writes in the other order earn the full reward as well, unless the
                  request names an order
    constant reply
                  words alone that list everything, or answer another problem, earn 0
    extra write   the gold calls and a further call that changes the state earn 0
    random calls  50 random legal calls earn 0; if they changed the state, also with the right words
    said          the gold calls with words of the request, the policy or any answer earn 0
    verifier      a verifier that drops a component, flips an assertion or omits a required fact
                  is noticed: at least one attempt at one problem gets another score
    tools         tools raise only ToolError and are quick, their results are not cut, and reading
                  tools do not change the state

`audit` runs all checks and lists the violations; `audited` refuses problems with violations.

violations    Violation and Audit: the checks made, and those that failed
world         `audit` and `audited`: all problems of a world
problem       the checks on one problem
tools         the checks on each tool, and on every call
processes     repeats the calls in other processes
legal_values  arguments that a student might give, extreme ones too
mutations     verifiers that are wrong on purpose
impurity      finds tools that ask for a clock, chance or the machine
"""

from dataenvgym.domains.tool_use.audit.violations import Audit, Violation
from dataenvgym.domains.tool_use.audit.world import audit, audited

__all__ = ["Audit", "Violation", "audit", "audited"]
