"""The values in a configuration file equal the defaults of its Python class."""

import inspect
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import pytest
import yaml

from dataenvgym.config import compose, config_directory
from dataenvgym.config.composition import files_by_group, options_by_group
from dataenvgym.config.hydra_files import read_with_bases
from dataenvgym.domains.code.domain import CodeDomain
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.code.task import CodeTask
from dataenvgym.environments import OpenEnded, SkillList, SkillTree
from dataenvgym.judging import RubricJudge
from dataenvgym.llama_factory import TrainingConfig
from dataenvgym.predictors import VllmPredictor
from dataenvgym.predictors.vllm.options import DEFAULTS
from dataenvgym.trainers import InProcessTrainer, LlamaFactoryTrainer

GROUPS = files_by_group()
FILES = [
    "config",
    "eval",
    *(f"{g}/{name}" for g, options in options_by_group().items() for name in options),
]
ENVIRONMENTS = {
    "dataenvgym/OpenEnded-v0": OpenEnded,
    "dataenvgym/SkillList-v0": SkillList,
    "dataenvgym/SkillTree-v0": SkillTree,
}
NO_VALUE = inspect.Parameter.empty

# Values that differ from the class, because it has several configuration files.
_DATA_SET = {"name", "format", "template", "limits", "packages", "sampling"}
_SERVER = {"base_url", "api_key_variable", "concurrency", "timeout", "max_tokens_field"}
OTHERWISE: Mapping[str, set[str]] = {
    # a data set by name: its prompt, and the needs of its tests
    "task/apps": _DATA_SET - {"packages"},
    "task/gsm8k": {"name", "format"},
    "task/gsm8k_hub": {"name", "format"},
    "task/humaneval": {"name", "format", "template"},
    "task/humaneval_plus": {"name", "format", "template", "packages"},
    "task/livecodebench": _DATA_SET - {"packages"},
    "task/mcp": {"name", "world", "tools", "mcp", "student"},
    "task/mbpp": {"name", "format", "template"},
    "task/mbpp_plus": {"name", "format", "template", "packages"},
    # a world by name
    "task/calendar": {"name", "world", "student"},
    "task/shop": {"name", "student"},
    "task/wallet": {"name", "world", "student"},
    "task/world": {"student"},
    # the student that has learned some of it
    "task/pocket_social": {"student"},
    "task/pocket_tools": {"student"},
    # a server of one's own, in place of OpenAI's
    "teacher/vllm": _SERVER,
}


@cache
def written(name: str) -> dict[str, Any]:
    group, _, file = name.rpartition("/")
    if not group:
        return dict(yaml.safe_load((config_directory() / f"{name}.yaml").read_text()))
    return read_with_bases(file, GROUPS[group])


def made(section: Mapping[str, Any]) -> Any:
    """The class that a section makes, or None."""
    target = section.get("_target_")
    if target is None and section.get("id") in ENVIRONMENTS:
        return ENVIRONMENTS[section["id"]]
    if target in (None, "???"):
        return None
    module, _, name = target.rpartition(".")
    return getattr(import_module(module), name)


def defaults(kind: Any) -> dict[str, Any]:
    """The arguments of a class with their defaults; `NO_VALUE` if required.

    Options that a class passes on with `**options` belong to a base class, or to the domain of
    a task.
    """
    found: dict[str, Any] = {}
    for one in kind.__mro__ if inspect.isclass(kind) else (kind,):
        make = vars(one).get("__init__") if inspect.isclass(one) else one
        if make is None:
            continue
        parameters = inspect.signature(make).parameters.values()
        for parameter in parameters:
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                found.setdefault(parameter.name, parameter.default)
        if all(parameter.kind != parameter.VAR_KEYWORD for parameter in parameters):
            break
    if kind in (CodeTask, PocketCodeTask):
        found = defaults(CodeDomain) | found
    if kind in (InProcessTrainer, LlamaFactoryTrainer):
        found |= {n: f.get_default() for n, f in TrainingConfig.model_fields.items()}
    return {**found, **DEFAULTS} if kind is VllmPredictor else found


def differences(section: Mapping[str, Any], kind: Any) -> Iterator[tuple[str, Any, Any]]:
    """Options that the section sets otherwise than the class: name, here, there."""
    there = defaults(kind)
    for name, value in section.items():
        if name in ("_target_", "id", "defaults") or is_filled_in(value):
            continue
        assert name in there, f"{kind.__name__} has no argument {name!r}"
        default = there[name]
        if default is NO_VALUE:
            continue
        if isinstance(value, dict) and hasattr(default, "__dict__"):
            here = {n: v for n, v in value.items() if n != "_target_"}
            default = {n: getattr(default, n) for n in here}
        else:
            here = value
        if plain(here) != plain(default):
            yield name, here, default


def is_filled_in(value: Any) -> bool:
    """Whether a value is the user's to give, or another section's."""
    return isinstance(value, str) and ("${" in value or value == "???")


def plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):  # Python has no constant that is an empty one
        return {name: plain(item) for name, item in value.items()} or None
    return value


def sections(section: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """A section and those in it that make something where Python has no object by default."""
    yield section
    kind = made(section)
    there = {} if kind is None else defaults(kind)
    for name, value in section.items():
        if isinstance(value, dict) and there.get(name, NO_VALUE) in (NO_VALUE, None):
            yield from sections(value)


def test_the_judge_of_an_evaluation_has_the_defaults_of_its_class():
    section = written("eval")["judge"]
    assert not list(differences(section, RubricJudge))
    assert defaults(RubricJudge).keys() == section.keys() | {"self"}


@pytest.mark.parametrize("name", FILES)
def test_a_file_and_its_class_have_the_same_defaults(name):
    differ = {}
    for section in sections(written(name)):
        if (kind := made(section)) is not None:
            differ |= {n: (here, there) for n, here, there in differences(section, kind)}
    expected = OTHERWISE.get(name, set())
    assert not differ.keys() - expected, differ
    assert differ.keys() == expected, "OTHERWISE lists what is the same"


def test_the_files_of_all_classes_are_compared():
    assert sum(made(written(name)) is not None for name in FILES) > 60
    assert OTHERWISE.keys() <= set(FILES)


def effective_batch(experiment: str) -> int:
    trainer = compose([f"experiment={experiment}"]).trainer
    each = trainer.per_device_train_batch_size * trainer.gradient_accumulation_steps
    return int(each * len(trainer.gpus))


def test_the_presets_of_one_student_train_with_the_same_batch():
    assert effective_batch("qwen3_8b_one_gpu") == effective_batch("qwen3_8b_eight_gpus")
