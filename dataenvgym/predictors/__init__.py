"""Predictors: students that answer conversations, and that can be trained.

in_process        transformers and PEFT in this process
answering         ... from conversations to replies
adapted_student   ... its base model, tokenizer and present adapter
prompts           ... from conversations to the student's input tokens
generation        ... from tokens to the tokens of the reply, in batches
sampling          ... how the next token is drawn
checkpoints       ... its adapter or weights as a folder, and training on records
vllm              a vLLM server, whose adapters change while it runs
former_adapter    the student before its last training, for self-play
openai            any model behind an OpenAI-compatible API; it cannot be trained
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
