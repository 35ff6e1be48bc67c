"""The student in a vLLM server: adapters change while it runs, without a restart.

predictor             the student: asks, trains, changes adapters
server                a server: questions, adapters, sleep, recovery; another adapter on it
own_server            ... that we start, share, and restart if it dies
attached_server       ... that another program started
leases                the users of our servers, and servers left over
placeholder_adapters  adapters that change nothing
starting              the arguments of our servers
options               the options of the student
adapter_lock          lets questions and changes of adapters take turns
sleeping              one GPU for the server and the trainer
"""

from dataenvgym.students.predictors.vllm.predictor import VllmPredictor

__all__ = ["VllmPredictor"]
