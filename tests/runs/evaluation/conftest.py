import pytest


@pytest.fixture
def small(tmp_path):
    """Overrides of an evaluation of 6 problems by a student that is not a network."""
    sizes = [f"task.n_{split}=6" for split in ("train", "validation", "test")]
    return ["student=simulated", *sizes, f"evaluations_dir={tmp_path}", "name=e"]
