"""The configuration: composed from YAML files, built into objects, saved with each run.

    overrides       parses a user's overrides
    composition     `compose(overrides)`: the folder `configs/` and `key=value` -> one DictConfig
    values          fills it with the defaults of its classes, checks and writes its values
    building        a DictConfig -> task, predictor, teacher, judge, agent, environment
    instantiation   one section -> the object that its `_target_` names
    identity        the name of a run, and the values that determine its results
    workspaces      finds, opens and checks folders with a `config.yaml`; what it may run
    run_directory   a DictConfig -> the folder of its run, new or continued

`make_open_ended`, `make_skill_list` and `make_skill_tree` build environments for gymnasium.
"""

from dataenvgym.registration import config_directory
from dataenvgym.runs.config.building import (
    build_agent,
    build_environment,
    build_judge,
    build_predictor,
    build_task,
    build_teacher,
    make_open_ended,
    make_skill_list,
    make_skill_tree,
)
from dataenvgym.runs.config.composition import compose
from dataenvgym.runs.config.identity import run_name
from dataenvgym.runs.config.run_directory import find_run, is_done, open_run, read_config

__all__ = [
    "build_agent",
    "build_environment",
    "build_judge",
    "build_predictor",
    "build_task",
    "build_teacher",
    "compose",
    "config_directory",
    "find_run",
    "is_done",
    "make_open_ended",
    "make_skill_list",
    "make_skill_tree",
    "open_run",
    "read_config",
    "run_name",
]
