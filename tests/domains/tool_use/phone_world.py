"""A small world with tools of both seats, and problems in it."""

import json

from dataenvgym.domains.tool_use.domain import ToolUseDomain
from dataenvgym.domains.tool_use.environment import ToolUseOptions
from dataenvgym.options import taken_from
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, check, tool


class Account(Row):
    owner: str
    plan: str = "small"
    balance: float = 20.0


class PhoneState(State):
    accounts: Table[Account] = Table()
    data_is_on: bool = False  # the user's store


class Phone(World[PhoneState]):
    """Accounts at a provider, and the telephone in the user's hand."""

    name = "phone"
    policy = "You help customers with their telephones."
    time_limit = 1.0

    def initial(self):
        return PhoneState(accounts=Table({"acc_7": Account(owner="Ann")}))

    @tool
    def read_account(self, account: str) -> Account:
        """Read an account.

        Args:
            account: such as "acc_7".
        """
        return self._account(account)

    @tool(writes=True)
    def set_plan(self, account: str, plan: str, months: int = 12) -> str:
        """Change the plan.

        Args:
            account: such as "acc_7".
            plan: its name.
            months: how long.
        """
        self.state.accounts[account] = self._account(account).changed(plan=plan)
        return f"{plan} for {months} months"

    @tool(writes=True, by="user")
    def switch_data(self, on: bool) -> str:
        """Switch mobile data."""
        if self.state.accounts["acc_7"].plan == "small":
            raise ToolError("your plan has no data")
        self.state.data_is_on = on
        return "data is on" if on else "data is off"

    @tool(by="user")
    def look(self) -> bool:
        """Whether data is on."""
        return self.state.data_is_on

    @check
    def has_plan(self, account: str, plan: str) -> bool:
        return self._account(account).plan == plan

    @check
    def breaks(self) -> bool:
        raise ValueError("no idea")

    @check
    def is_vague(self) -> bool:
        return "perhaps"

    def _account(self, account):
        if account not in self.state.accounts:
            raise ToolError(f"there is no account {account}")
        return self.state.accounts[account]


READ = {"name": "read_account", "arguments": {"account": "acc_7"}}
SET = {"name": "set_plan", "arguments": {"account": "acc_7", "plan": "large"}}
SWITCH = {"name": "switch_data", "arguments": {"on": True}}


def instance(name="i", instruction="I want the large plan.", **data):
    data = {"world": "phone", "gold": [SET], **data}
    return TaskInstance(id=name, task="phone", instruction=instruction, data=data)


def say(*calls, words=""):
    """The student's text with these calls."""
    texts = [f"<tool_call>\n{json.dumps(call)}\n</tool_call>" for call in calls]
    return "\n".join(filter(None, [words, *texts]))


def domain(**options):
    return ToolUseDomain(Phone(), taken_from(options, ToolUseOptions), **options)


def begun(problem, others=None, **options):
    """An environment that has begun with the problem."""
    made = domain(**options)
    environment = made.make_environment()
    if others is not None:
        environment.others = others
    environment.reset(seed=0, options={"instance": problem})
    return environment
