"""The student in a vLLM server: adapters change while it runs, without a restart.

predictor        the student: asks, trains, changes adapters
server           a server: questions, adapters, sleep, recovery; another adapter on it
own_server       ... that we start, and restart if it dies
attached_server  ... that another program started
starting         the command lines of our servers
options          the options of the student
"""

from dataenvgym.students.predictors.vllm.predictor import VllmPredictor

__all__ = ["VllmPredictor"]
