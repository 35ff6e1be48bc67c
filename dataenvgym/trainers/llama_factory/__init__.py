"""The trainer that is LLaMA-Factory itself, in an environment of its own.

trainer     a training file in, what was trained out
staging     where LLaMA-Factory writes meanwhile
launching   how `llamafactory-cli` is run: a fresh process, or children of a warm worker
worker      ... that worker; it runs in LLaMA-Factory's environment
diagnosis   a failed training -> why, and what to do
"""

from dataenvgym.trainers.llama_factory.trainer import LlamaFactoryTrainer

__all__ = ["LlamaFactoryTrainer"]
