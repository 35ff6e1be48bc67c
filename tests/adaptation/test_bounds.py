"""Bounds of options of adaptations, which the configuration holds values against."""

import pytest

from dataenvgym.adaptation import Arms, Continual, RestEM
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config.instantiation import check_arguments


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (Arms, {"names": ["best"], "split": "dev", "contexts": 0, "edits": 0, "at_once": 0}),
        (RestEM, {"rounds": 0, "keep": "all", "contexts": 0, "split": "dev"}),
        (Continual, {"names": ["kept"], "replays": [-1], "contexts": 0, "edits": 0}),
        (Continual, {"names": [], "replays": []}),
    ],
)
def test_a_value_beyond_its_bounds_is_refused_by_its_key(target, options):
    for name, value in options.items():
        with pytest.raises(ConfigurationError, match=rf"arms\.{name}\b"):
            check_arguments(target, {name: value}, "arms")
