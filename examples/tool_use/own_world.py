"""Your own world: tools over a state, problems (own_world.jsonl), an audit, and a student."""

from pathlib import Path

from dataenvgym.domains.tool_use.task import ToolUseTask
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.worlds import Row, State, Table, ToolError, World, tool


class Plant(Row):
    ml: int


class Garden(State):
    plants: Table[Plant]


class Greenhouse(World[Garden]):
    name, policy = "greenhouse", "No plant gets over 200 ml: leave it, and say what it has."

    def initial(self):
        return Garden(plants={"fern": {"ml": 20}, "rose": {"ml": 90}, "cactus": {"ml": 150}})

    @tool
    def thirsty(self, below: int) -> dict[str, int]:
        """The plants that have less water than so many ml, and how much they have."""
        return {name: plant.ml for name, plant in self.state.plants.items() if plant.ml < below}

    @tool(writes=True)
    def water(self, plant: str, ml: int) -> str:
        """Water a plant."""
        if plant not in self.state.plants or ml <= 0:
            raise ToolError("there is no such plant, or no such amount")
        self.state.plants[plant] = Plant(ml=self.state.plants[plant].ml + ml)
        return "done"


if __name__ == "__main__":
    call = '<tool_call>{"name": "water", "arguments": {"plant": "fern", "ml": 80}}</tool_call>'
    student = ScriptedPredictor(lambda told: call if told[-1].role == "user" else "Done.")
    task = ToolUseTask(Greenhouse(), Path(__file__).with_suffix(".jsonl"), audit=True).whole()
    for done in task.evaluate(student):
        print(f"{done.instance.instruction:35} {'solved' if done.was_correct else 'not solved'}")
