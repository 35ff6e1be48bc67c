"""The trainer that runs LLaMA-Factory itself, in an environment of its own.

trainer     from a training file to an adapter or a student
slots       how LLaMA-Factory writes conversations, and whether an evaluation does so, too
launching   runs `llamafactory-cli`: a new process each time, or children of a warm worker
worker      ... that worker; it runs in LLaMA-Factory's environment
"""

from dataenvgym.students.trainers.llama_factory.trainer import LlamaFactoryTrainer

__all__ = ["LlamaFactoryTrainer"]
