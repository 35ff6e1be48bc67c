"""Predictors: students that answer conversations, and that can be trained.

in_process        transformers and PEFT in this process
adapted_student   ... its base model, tokenizer and present adapter
generation        ... from conversations to the tokens of the replies, in batches
learner           a student that learns from files: its options, and its trainings
checkpoints       ... its adapter or weights as a folder
prompts           ... and whether it is trained with the prompts of the evaluation
vllm              a vLLM server, whose adapters change while it runs
openai            any model behind an OpenAI-compatible API; it cannot be trained
scripted          answers by a function; for tests and examples
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.students.predictors.in_process import InProcessPredictor
    from dataenvgym.students.predictors.learner import RemembersFormer
    from dataenvgym.students.predictors.openai import OpenAIPredictor
    from dataenvgym.students.predictors.scripted import ScriptedPredictor
    from dataenvgym.students.predictors.vllm import VllmPredictor
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "InProcessPredictor",
    "OpenAIPredictor",
    "RemembersFormer",
    "ScriptedPredictor",
    "VllmPredictor",
]
