"""Trainers: a LLaMA-Factory YAML file and dataset folder go in, an adapter folder comes out.

interface       what a predictor asks of a trainer
llama_factory   LLaMA-Factory itself, in an environment of its own
in_process      a trainer in this process: its options, and the way through one training
    chat_format   a tokenizer's chat template, taken apart into the slots of each turn
    examples      training records -> tokens and labels, for each stage
    objectives    the losses of the stages
    batches       the order of the examples, and padding
    loop          the optimization
    folding       ... and a faster way through small layers
    student       base models and tokenizers from disk
    adapters      LoRA adapters: new ones, on a base model, as files
    merging       ... and summed into its weights
    support       what the trainer in this process has of LLaMA-Factory's options
    compute       who computes on how many cores

What is trained in this process is what LLaMA-Factory 0.9.5 would train from the same files: the
same tokens, the same supervised ones among them, the same batches in the same order, the same
losses.
"""

from dataenvgym.trainers.in_process import InProcessTrainer
from dataenvgym.trainers.interface import TrainerInterface
from dataenvgym.trainers.llama_factory import LlamaFactoryTrainer

__all__ = ["InProcessTrainer", "LlamaFactoryTrainer", "TrainerInterface"]
