"""Adaptation: a student is trained on self-edits of contexts, each time from its untouched base.

edits        contexts, the engines that turn a model's text into a training, and the writing
inner_loop   trains an adapter on the records of one edit, and asks the context's questions
trials       the accuracy of each edit over repeated trainings
rest_em      trains the writer on the edits that were worth most
arms         the ways to adapt a student, compared on the same contexts
report       the figures of the arms, as tables
continual    sequences of contexts, whose adapters are merged or stacked
running      `run_adaptation`: arms from a configuration, in a folder
server       trains and asks an adapter for each request of a client
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.adaptation.arms import ArmResult, Arms
    from dataenvgym.adaptation.continual import Continual
    from dataenvgym.adaptation.inner_loop import Adapted, Answer, InnerLoop, adapt
    from dataenvgym.adaptation.rest_em import RestEM, kept_edits
    from dataenvgym.adaptation.running import Adaptation, run_adaptation
    from dataenvgym.adaptation.trials import EditResult, EditTrials
    from dataenvgym.tasks.edits import Context, Edit, WritesEdits
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "Adaptation",
    "Adapted",
    "Answer",
    "ArmResult",
    "Arms",
    "Context",
    "Continual",
    "Edit",
    "EditResult",
    "EditTrials",
    "InnerLoop",
    "RestEM",
    "WritesEdits",
    "adapt",
    "kept_edits",
    "run_adaptation",
]
