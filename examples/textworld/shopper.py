"""A shop of text: a shopper with a few rules, with and without a choice of options."""

import re

from dataenvgym.domains.textworld.task import TextworldShopTask
from dataenvgym.students.predictors import ScriptedPredictor


def shopper(chooses_options):
    """Search for the whole request, open the first result, choose what was asked for, and buy."""

    def reply(conversation):
        request = conversation[1].content.removeprefix("Instruction: ").partition("\n")[0]
        page = conversation[-1].content
        clicked = [m.content for m in conversation if m.role == "assistant"]
        if page.endswith("[Search]"):
            return f"Thought: I search.\nAction: search[{request}]"
        if "[Buy Now]" not in page:
            first = re.search(r"\[(B0\w+)\]", page)
            return f"Thought: I look at the first result.\nAction: click[{first[1]}]"
        wanted = [
            value
            for line in page.splitlines()
            if (option := re.match(r"(\w+): \[", line))
            for value in re.findall(r"\[(.+?)\]", line)
            if f"{option[1]}: {value}" in request
        ]
        for value in wanted if chooses_options else ():
            action = f"Thought: They want it.\nAction: click[{value}]"
            if action not in clicked:
                return action
        return "Thought: I have decided.\nAction: click[Buy Now]"

    return ScriptedPredictor(reply)


if __name__ == "__main__":
    task = TextworldShopTask()
    for name, chooses_options in (("with options", True), ("without options", False)):
        report = task.generate_performance_report(task.evaluate(shopper(chooses_options)))
        print(f"{name:16} reward {report.score:.2f} solved {report.accuracy:.2f}")
