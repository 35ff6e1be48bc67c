"""LLaMA-Factory's files: the one place in dataenvgym that knows their formats.

    entries          a dataset's entry in `dataset_info.json`
    formats          training records -> dataset rows
    scored           scored records -> records that LLaMA-Factory's stages learn from
    parsing          dataset rows -> training records (other people's column names included)
    turns            a turn of a sharegpt row -> the message that it stands for
    column_types     what the JSON loader that LLaMA-Factory uses makes of a file's columns
    dataset          whole dataset folders, written and read as streams
    options          the names of all options that LLaMA-Factory knows
    training_config  the YAML file that `llamafactory-cli train` takes
    training_options its options as keyword arguments

The formats are those of LLaMA-Factory 0.9.5.
"""

from dataenvgym.llama_factory.dataset import WrittenDataset, read_dataset, write_dataset
from dataenvgym.llama_factory.entries import Formatting, Stage, dataset_info_entry
from dataenvgym.llama_factory.formats import (
    format_records_for_llama_factory_dpo,
    format_records_for_llama_factory_kto,
    format_records_for_llama_factory_pt,
    format_records_for_llama_factory_sft,
    stage_of,
)
from dataenvgym.llama_factory.scored import ScoredAs, without_weights
from dataenvgym.llama_factory.training_config import TrainingConfig
from dataenvgym.llama_factory.training_options import TrainingOptions

__all__ = [
    "Formatting",
    "ScoredAs",
    "Stage",
    "TrainingConfig",
    "TrainingOptions",
    "WrittenDataset",
    "dataset_info_entry",
    "format_records_for_llama_factory_dpo",
    "format_records_for_llama_factory_kto",
    "format_records_for_llama_factory_pt",
    "format_records_for_llama_factory_sft",
    "read_dataset",
    "stage_of",
    "without_weights",
    "write_dataset",
]
