"""The student in a vLLM server: adapters change while it runs, and nothing is restarted.

predictor    the student: asks, trains, changes adapters
server       a server: it is asked, adapters come and go, it sleeps, it is away
own          ... one that we start, share, and start again if it dies
attached     ... one that somebody else started
leases       who uses which of our servers, and which are left over
blank        adapters that change nothing
starting     what our servers are started with
options      what the student can be told
traffic      questions and changes of adapters take turns
sleeping     one GPU for the server and the trainer
"""

from dataenvgym.predictors.vllm.predictor import VllmPredictor

__all__ = ["VllmPredictor"]
