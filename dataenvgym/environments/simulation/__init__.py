"""Students simulated by learning curves: fast enough to train policies on.

curves        the model: the effect of a training on the accuracy of each skill; shipped curves; a
              student that follows them, thousands of trainings per second
predictor     the same student as a predictor, for any environment
recordings    recorded runs, as counts taught and accuracies reached
fitting       recorded runs -> learning curves, and their errors on other runs
environments  `SkillTree-v0` around a simulated student, without files

`student=simulated` is the `SimulatedPredictor`.
`python -m dataenvgym.environments.simulation RUN... --output FILE` fits curves to your own runs.
"""

from dataenvgym.environments.simulation.curves import (
    LearningCurves,
    SimulatedStudent,
    read_curves,
    write_curves,
)
from dataenvgym.environments.simulation.predictor import SimulatedPredictor

__all__ = [
    "LearningCurves",
    "SimulatedPredictor",
    "SimulatedStudent",
    "read_curves",
    "write_curves",
]
