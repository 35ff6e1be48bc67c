"""Predictors: students that answer conversations, and that can be trained.

in_process        transformers and PEFT in this process
answering         ... conversations in, replies out
adapted_student   ... its base model, tokenizer and the adapter that it answers with
prompts           ... conversations -> the tokens that a student is given
generation        ... tokens -> the tokens of the reply, many at once
sampling          ... how the next token is drawn
checkpoints       ... its adapter or weights as a folder, and how records become one
vllm              a vLLM server, and adapters that change while it runs
former_adapter    what a student was before its last training, for self-play
openai            any model behind an OpenAI-compatible API, not to be trained
scripted          answers by a function; for tests and examples
"""

from dataenvgym.predictors.former_adapter import RemembersFormer
from dataenvgym.predictors.in_process import InProcessPredictor
from dataenvgym.predictors.openai import OpenAIPredictor
from dataenvgym.predictors.scripted import ScriptedPredictor
from dataenvgym.predictors.vllm import VllmPredictor

__all__ = [
    "InProcessPredictor",
    "OpenAIPredictor",
    "RemembersFormer",
    "ScriptedPredictor",
    "VllmPredictor",
]
