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

from dataenvgym.registration import names_in

__getattr__ = names_in(
    __name__,
    {
        "arms": "ArmResult Arms",
        "continual": "Continual",
        "inner_loop": "Adapted Answer InnerLoop adapt",
        "rest_em": "RestEM kept_edits",
        "running": "Adaptation run_adaptation",
        "trials": "EditResult EditTrials",
        ".tasks.edits": "Context Edit WritesEdits",
    },
)
