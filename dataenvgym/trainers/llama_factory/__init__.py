"""The trainer that is LLaMA-Factory itself, in an environment of its own.

trainer     a training file in, an adapter or a student out
staging     where LLaMA-Factory writes meanwhile
launching   how `llamafactory-cli` is run: a fresh process, or children of a warm worker
worker      ... that worker; it runs in LLaMA-Factory's environment
diagnosis   a failed training -> why, and the way out
"""

from dataenvgym.trainers.llama_factory.trainer import LlamaFactoryTrainer

__all__ = ["LlamaFactoryTrainer"]
