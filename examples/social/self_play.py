"""Self-play: a student negotiates with itself, its former versions, and another student.

The student is the script of `haggler`, so the example needs no GPU and no download.
`StudentSpeaker` works with any trainable student.
"""

import tempfile
from pathlib import Path

from haggler import Haggler

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.interfaces import TrainingRun
from dataenvgym.tasks.rollouts import StudentSpeaker


def goal_score(student, partner):
    """Its mean goal score, 0 to 10, from both seats of the scenes that end in a deal by rule."""
    task = SocialTask(partner="model", others={"partner": partner}).whole()
    deals = [i for i in task.instances if i.data_as(SocialProblem).scene.deal]
    return 10 * task.generate_performance_report(task.attempt(student, deals)).score


with tempfile.TemporaryDirectory() as folder:
    student, before = Haggler(), None
    for number in (1, 2):
        (directory := Path(folder, str(number))).mkdir()
        student.train((), TrainingRun(directory, start="adapter"))
        student.remember_former(before)
        before = directory / "adapter"
    partners = {
        "itself": StudentSpeaker(),
        "its version before its last training": StudentSpeaker("former"),
        "its version before any training": StudentSpeaker("untouched"),
        "a saved adapter": StudentSpeaker(Path(folder) / "1" / "adapter"),
        "another student": Haggler(opening=0.1),
    }
    for name, partner in partners.items():
        print(f"{goal_score(student, partner):5.2f} against {name}")
