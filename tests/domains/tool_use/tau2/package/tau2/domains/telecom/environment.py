"""A domain with tools of both seats, and a user's store that follows the assistant's."""

import hashlib
import json
from types import SimpleNamespace

from pydantic import BaseModel

from tau2.utils import DATA_DIR

FOLDER = DATA_DIR / "tau2" / "domains" / "telecom"


class Line(BaseModel):
    owner: str
    roams: bool = False
    notes: list[str] = []


class DB(BaseModel):
    lines: dict[str, Line]


class UserDB(BaseModel):
    line: str = "L1"
    data_on: bool = False
    has_signal: bool = False


def parameters(**types):
    return {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in types.items()},
        "required": list(types),
    }


class Toolkit:
    schemas: dict = {}
    writing: tuple = ()

    def __init__(self, db):
        self.db = db

    def has_tool(self, name):
        return name in self.schemas

    def tool_mutates_state(self, name):
        return name in self.writing

    def get_db_hash(self):
        return hashlib.sha256(json.dumps(self.db.model_dump(), sort_keys=True).encode()).hexdigest()

    def update_db(self, changes):
        merged = {**self.db.model_dump(), **changes}
        self.db = type(self.db).model_validate(merged)


class Tools(Toolkit):
    schemas = {"get_line": parameters(line="string"), "allow_roaming": parameters(line="string")}
    writing = ("allow_roaming",)

    def get_line(self, line):
        if line not in self.db.lines:
            raise ValueError(f"Line {line} not found")
        return self.db.lines[line]

    def allow_roaming(self, line):
        found = self.get_line(line)
        found.notes.append("asked for roaming")  # before it may fail
        if found.owner == "nobody":
            raise ValueError("This line has no owner")
        found.roams = True
        return "Roaming is allowed"

    def assert_noted(self, line):
        return self.db.lines[line].notes[0] == "asked for roaming"

    def assert_roams(self, line):
        return self.db.lines[line].roams


class UserTools(Toolkit):
    schemas = {"toggle_data": parameters(), "look": parameters()}
    writing = ("toggle_data",)

    def toggle_data(self):
        self.db.data_on = not self.db.data_on
        return f"Data is {'on' if self.db.data_on else 'off'}"

    def look(self):
        return {"signal": self.db.has_signal}

    def assert_data(self, expected):
        return self.db.data_on == expected


class Environment:
    def __init__(self, tools, user_tools, policy):
        self.tools, self.user_tools, self.policy = tools, user_tools, policy
        self.sync_tools()

    def get_policy(self):
        return self.policy

    def get_tools(self):
        return described(self.tools)

    def get_user_tools(self):
        return described(self.user_tools)

    def sync_tools(self):
        self.user_tools.db.has_signal = self.tools.db.lines[self.user_tools.db.line].roams

    def get_db_hash(self):
        return self.tools.get_db_hash()

    def get_user_db_hash(self):
        return self.user_tools.get_db_hash()

    def make_tool_call(self, tool_name, requestor="assistant", **arguments):
        kit = self.user_tools if requestor == "user" else self.tools
        if not kit.has_tool(tool_name):
            raise ValueError(f"Tool '{tool_name}' not found.")
        return getattr(kit, tool_name)(**arguments)

    def get_response(self, call):
        try:
            value = self.make_tool_call(call.name, requestor=call.requestor, **call.arguments)
            self.sync_tools()
        except Exception as error:
            return SimpleNamespace(content=f"Error: {error}", error=True)
        value = value.model_dump() if isinstance(value, BaseModel) else value
        content = value if isinstance(value, str) else json.dumps(value)
        return SimpleNamespace(content=content, error=False)

    def run_env_function_call(self, call):
        kit = self.user_tools if call.env_type == "user" else self.tools
        value = getattr(kit, call.func_name)(**call.arguments)
        self.sync_tools()
        return value

    def set_state(self, initialization_data, initialization_actions, message_history):
        assert message_history == []
        if initialization_data is not None and initialization_data.agent_data is not None:
            self.tools.update_db(initialization_data.agent_data)
        if initialization_data is not None and initialization_data.user_data is not None:
            self.user_tools.update_db(initialization_data.user_data)
        for action in initialization_actions or ():
            self.run_env_function_call(action)
        self.sync_tools()


def described(kit):
    return [
        SimpleNamespace(
            openai_schema={
                "type": "function",
                "function": {"name": name, "description": f"Do {name}.", "parameters": schema},
            }
        )
        for name, schema in kit.schemas.items()
    ]


def get_environment():
    lines = {"L1": Line(owner="Ann"), "L2": Line(owner="nobody"), "L3": Line(owner="Bo")}
    policy = (FOLDER / "policy.md").read_text()
    return Environment(Tools(DB(lines=lines)), UserTools(UserDB()), policy)
