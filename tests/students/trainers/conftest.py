import pytest
import torch

from dataenvgym.students.trainers.student import load_base_model, load_tokenizer


@pytest.fixture
def tokenizer(tiny_student):
    return load_tokenizer(str(tiny_student))


@pytest.fixture
def base(tiny_student):
    """The tiny student's model, which adapters leave as it is."""
    return load_base_model(str(tiny_student), device=torch.device("cpu"), dtype=torch.float32)


@pytest.fixture
def model(base):
    return base


@pytest.fixture(scope="module")
def other_model(make_student, tmp_path_factory):
    folder = make_student(tmp_path_factory.mktemp("other"), seed=1)
    return load_base_model(str(folder), device=torch.device("cpu"), dtype=torch.float32)
