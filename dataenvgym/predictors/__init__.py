"""Predictors: students that answer conversations, and that can be trained.

in_process        transformers and PEFT in this process
adapted_student   ... its base model, tokenizer and the adapter that it answers with
prompts           ... conversations -> the tokens that a student is given
generation        ... tokens -> the tokens of the reply, many at once
sampling          ... how the next token is drawn
scripted          answers by a function; for tests and examples
"""

from dataenvgym.predictors.in_process import InProcessPredictor
from dataenvgym.predictors.scripted import ScriptedPredictor

__all__ = ["InProcessPredictor", "ScriptedPredictor"]
