"""Trainers: from a LLaMA-Factory YAML file and dataset folder to an adapter folder.

llama_factory   LLaMA-Factory itself, in an environment of its own
in_process      a trainer in this process: its options, and the steps of one training
together        many trainings at once, with common steps on a model of `row_adapters`
    chat_format   conversations in a tokenizer's chat template, and what is learned of them
    examples      from training records to tokens and labels, for each stage
    objectives    the losses of the stages, and padding; `scored` has a formula of its own
    loop          the optimization, and the order of the examples
    student       base models and tokenizers from disk
    adapters      LoRA adapters: new ones, on a base model or merged into it, as files
    support       the supported options of LLaMA-Factory, and those without effect
    compute       the use of CPU cores

Training in this process matches LLaMA-Factory 0.9.5 on the same files: the same tokens, the same
supervised tokens, the same batches in the same order, the same losses. Only where LLaMA-Factory's
prompts are not those of an evaluation, ours differ (see `llama_factory.slots`).
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.interfaces import TrainerInterface
    from dataenvgym.students.trainers.in_process import InProcessTrainer
    from dataenvgym.students.trainers.llama_factory import LlamaFactoryTrainer
else:
    __getattr__ = names_in(__name__)

__all__ = ["InProcessTrainer", "LlamaFactoryTrainer", "TrainerInterface"]
