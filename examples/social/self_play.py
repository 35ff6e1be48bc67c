"""Self-play: a student negotiates with itself, its former versions, and another student.

The student is a script that concedes later after each training, so the example needs no GPU and no
download. `StudentSpeaker` works with any trainable student.
"""

import re
import tempfile
from pathlib import Path

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.interfaces import TrainingRun
from dataenvgym.students.predictors import RemembersFormer, ScriptedPredictor
from dataenvgym.tasks.rollouts import StudentSpeaker

PRICE = re.compile(r"([\d,]+) euros")
ACCEPT = "[action] accept"


class Haggler(RemembersFormer, ScriptedPredictor):
    """Begins far from the limit in its goal, and accepts an offer as good as its own next price."""

    def __init__(self, opening=0.4):
        super().__init__(self.reply)
        self.opening = opening

    def reply(self, conversation):
        if any("] does: accept" in m.content or m.content == ACCEPT for m in conversation):
            return "[leave] Thank you, and goodbye."
        goal = conversation[0].content.partition("Your goal: ")[2]
        limit = float(PRICE.findall(goal)[0].replace(",", ""))
        sells = re.search(r"or more|least", goal.split("\n")[0]) is not None
        turn = sum(message.role == "assistant" for message in conversation)
        distance = self.opening * max(0.0, 1 - turn / (3 + 2 * self.trainings))
        price = round(limit * (1 + distance if sells else 1 - distance))
        heard = PRICE.findall(conversation[-1].content.split("Your goal: ")[-1]) if turn else []
        offer = float(heard[-1].replace(",", "")) if heard else None
        if offer is not None and (offer >= price if sells else offer <= price):
            return ACCEPT
        return f"[action] offer {price:,} euros" if turn < 9 else "[leave]"

    def with_adapter(self, folder):
        """A student with another adapter; `StudentSpeaker` uses it for former versions."""
        other = Haggler(self.opening)
        if folder is not None:
            other.load(folder)
        return other


def goal_score(student, partner):
    """Its mean goal score, 0 to 10, from both seats of the scenes that end in a deal by rule."""
    task = SocialTask(partner="model", others={"partner": partner}).whole()
    deals = [i for i in task.instances if i.data_as(SocialProblem).scene.deal]
    return 10 * task.generate_performance_report(task.attempt(student, deals)).score


with tempfile.TemporaryDirectory() as folder:
    student, before = Haggler(), None
    for number in (1, 2):
        run = TrainingRun(Path(folder) / str(number), start="adapter")
        run.directory.mkdir()
        student.train((), run)
        student.remember_former(before)
        before = run.directory / "adapter"
    partners = {
        "itself": StudentSpeaker(),
        "its version before its last training": StudentSpeaker("former"),
        "its version before any training": StudentSpeaker("untouched"),
        "a saved adapter": StudentSpeaker(Path(folder) / "1" / "adapter"),
        "another student": Haggler(opening=0.1),
    }
    for name, partner in partners.items():
        print(f"{goal_score(student, partner):5.2f} against {name}")
