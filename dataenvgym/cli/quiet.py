"""Libraries that would write over the display are asked to be quiet, before they are imported.

Whatever a user has set stays as it is.
"""

from __future__ import annotations

import logging
import os
import warnings

SETTINGS = {
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "TQDM_DISABLE": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
}

_NOWHERE = logging.NullHandler()


def quieten() -> None:
    """No progress bars and no advice from Hugging Face's libraries, no warnings from others."""
    for name, value in SETTINGS.items():
        os.environ.setdefault(name, value)
    if "PYTHONWARNINGS" not in os.environ:
        warnings.simplefilter("ignore")
    # without any handler, logging would write warnings and tracebacks to the terminal
    logging.getLogger().addHandler(_NOWHERE)
