"""Students that are nothing but learning curves: fast enough to train policies on.

curves        the model: the effect of a training on the accuracy of each skill; curves that ship
student       ... a student that follows it, thousands of trainings a second
predictor     ... the same behind the interface of a real one, in any environment
answer_key    the skill of a question or a record, and the right answer
recordings    recorded runs, as counts taught and accuracies reached
fitting       recorded runs -> learning curves
validation    ... and how far these are off on runs that they were not fitted on
skill_tree    `SkillTree-v0` around a simulated student, without files
forest        ... the same in the fixed boxes of `dataenvgym.wrappers`, on arrays: for RL libraries

`student=simulated` is the `SimulatedPredictor`.
`python -m dataenvgym.simulation RUN... --output FILE` fits curves to one's own runs.
"""

from dataenvgym.simulation.curves import LearningCurves, read_curves, write_curves
from dataenvgym.simulation.predictor import SimulatedPredictor
from dataenvgym.simulation.student import SimulatedStudent

__all__ = [
    "LearningCurves",
    "SimulatedPredictor",
    "SimulatedStudent",
    "read_curves",
    "write_curves",
]
