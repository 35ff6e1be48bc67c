"""LLaMA-Factory's files; no other module of dataenvgym knows their formats.

    entries          a dataset's entry in `dataset_info.json`, and turns of sharegpt rows
    formats          from training records to dataset rows
    scored           from scored records to records for LLaMA-Factory's stages
    dataset          whole dataset folders, written as streams
    reading          and read, also with other column names, like the files of SDPO
    training_config  the YAML file for `llamafactory-cli train`, and the options of a trainer

The formats are those of LLaMA-Factory 0.9.5.
"""

from dataenvgym.students.llama_factory.dataset import WrittenDataset, write_dataset
from dataenvgym.students.llama_factory.formats import (
    format_records_for_epo,
    format_records_for_sdpo,
    stage_of,
)
from dataenvgym.students.llama_factory.reading import read_dataset, read_sdpo_pairs
from dataenvgym.students.llama_factory.scored import without_weights
from dataenvgym.students.llama_factory.training_config import TrainingConfig

__all__ = [
    "TrainingConfig",
    "WrittenDataset",
    "format_records_for_epo",
    "format_records_for_sdpo",
    "read_dataset",
    "read_sdpo_pairs",
    "stage_of",
    "without_weights",
    "write_dataset",
]
