"""A command of a page in short settings, with models that can be had here.

What to change is read from the configuration that the command composes: options that make it long,
models of the hub, servers, and the programs with an environment of their own (vLLM, LLaMA-Factory).
"""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from omegaconf import OmegaConf

from dataenvgym.adaptation.running import adaptation_config
from dataenvgym.cli.main import parse_arguments
from dataenvgym.runs.config import compose
from dataenvgym.runs.config.suites import evaluations_of
from dataenvgym.studies.grid import parse_grid
from dataenvgym.tasks.metrics.metric import quoted_metrics
from tests.docs.shells import split_by

AT_MOST: dict[str, float] = {
    "agent.engine.max_tokens": 32,
    "agent.engine.samples": 2,
    "agent.records_per_iteration": 12,
    "arms.contexts": 1,
    "arms.edits": 2,
    "arms.repeats": 1,
    "environment.generations_per_training": 1,
    "environment.max_records": 20,
    "episode.iterations": 1,
    "rest_em.contexts": 1,
    "rest_em.edits": 2,
    "rest_em.repeats": 1,
    "rest_em.rounds": 1,
    "rest_em.trainer.num_train_epochs": 1,
    "seeds": 1,
    "task.casts_per_scene": 1,
    "task.n_procedural": 40,
    "task.n_passages": 2,
    "task.n_test": 12,
    "task.n_train": 40,
    "task.n_validation": 12,
    "task.per_cell": 2,
    "task.partner_sampling.max_tokens": 16,
    "task.sampling.max_tokens": 40,
    "task.turn_limit": 6,
    "trainer.num_train_epochs": 1,
}
INSTEAD: dict[str, tuple[object, object]] = {
    "arms.contexts": (None, 1),
    "rest_em.contexts": (None, 1),
    "task.limit": (None, 3),
    "task.n_passages": (None, 2),
    "task.scenes": ("all", "hard"),
    "task.seats": ("both", "first"),
}
"""Long values of options, and what takes their place."""
IN_PROCESS = {
    f"dataenvgym.students.{external}": f"dataenvgym.students.{own}"
    for external, own in (
        ("predictors.VllmPredictor", "predictors.InProcessPredictor"),
        ("trainers.LlamaFactoryTrainer", "trainers.InProcessTrainer"),
    )
}
_OF_PROGRAMS = (  # whose values the programs alone take
    *("dtype", "bf16", "threads", "finetuning_type", "use_dora", "quantization_bit", "deepspeed"),
    *("template", "packing", "fp16", "pref_loss", "effective_batch_size"),
)
_REMOVED = object()


class Here(NamedTuple):
    """What takes the place of what a page names."""

    models: str  # the URL of a server with OpenAI's API
    student: str  # the folder of a chat model
    redis: str  # the URL of a Redis server


def words_of(line: str) -> list[str]:
    """The words of a line, as bash makes them; a task that a page leaves open is pocket math."""
    (words,) = split_by("bash", [line])
    return [word.replace("task=...", "task=pocket_math") for word in words]


def composed(words: list[str]) -> dict[str, Any]:
    """The configuration that a command asks for (each of a study, its first is returned), or {}."""
    arguments = parse_arguments(words)
    folder = getattr(arguments, "config_dir", None)
    if arguments.command == "adapt":
        continual = arguments.continual
        config = _plain(adaptation_config(arguments.overrides, folder, continual=continual))
        config["agent"]["engine"].pop("samples", None)  # is for runs
        return config
    if arguments.command == "generate":
        rest = [text for text in arguments.overrides if not text.startswith("prompt=")]
        return _plain(compose(rest, name="generate", config_dir=folder))
    if arguments.command not in ("run", "study", "eval", "rescore"):
        return {}
    overrides = [quoted_metrics(text) for text in arguments.overrides]
    if arguments.command == "eval":
        overrides, *others = evaluations_of(overrides, folder)
        for other in others:
            compose([quoted_metrics(text) for text in other], name="eval", config_dir=folder)
        overrides = [quoted_metrics(text) for text in overrides]
    if arguments.command == "rescore":  # the task is that of the evaluation
        overrides = [text for text in overrides if not text.startswith("task.")]
    if arguments.command == "study":
        grid = parse_grid(overrides, strategies=arguments.strategy or (), config_dir=folder)
        (strategy, *strategies), (task, *tasks) = grid.strategies, grid.tasks
        pairs = [*((s, task) for s in strategies), *((strategy, t) for t in tasks)]
        others = [_plain(compose(grid.overrides(*pair), config_dir=folder)) for pair in pairs]
        config = _plain(compose(grid.overrides(strategy, task), config_dir=folder))
        if any("records_per_iteration" not in other["agent"] for other in others):
            config["agent"].pop("records_per_iteration", None)  # which its class does not take
        return config
    name = "eval" if arguments.command in ("eval", "rescore") else "config"
    return _plain(compose(overrides, name=name, config_dir=folder))


def shortened(words: list[str], here: Here, *, with_programs: bool = False) -> list[str]:
    """The command with what can be had here, and little of it.

    Args:
        with_programs: ask vLLM and LLaMA-Factory, not what does the same in this process.
    """
    config = composed(words)
    changes = {**dict(_shorter(config)), **dict(_had_here(config, here))}
    if not with_programs:
        changes |= dict(_in_process(config))
    if words[0] == "study":
        fewest = {"--fit-noise": 3, "--race": 4}
        seeds = f"seed=range({max([1, *(n for word, n in fewest.items() if word in words)])})"
        given = [word.partition("=")[0] for word in words]
        if "suite=teach-v1" in words:  # of ten tasks and six strategies
            few = {"task": "teach/traps,teach/drift", "agent": "random,skill_list"}
            words = [*words, *(f"{key}={value}" for key, value in few.items() if key not in given)]
        words = [re.sub(r"^seed=.*", seeds, word) for word in words]
        words = [re.sub(r"^(task=[^,]*,[^,]*),.*", r"\1", word) for word in words]
        words = [re.sub(r"^(agent=[^,]*),.*(,[^,]*)$", r"\1\2", word) for word in words]
    changes = {k: v for k, v in changes.items() if k.startswith(_sections(words))}
    written = {k: "null" if v is None else v for k, v in changes.items()}
    new = {word[2:].partition("=")[0] for word in words if word.startswith("++")}
    return [
        *words,
        *(f"~{k}" if v is _REMOVED else f"{'++' * (k in new)}{k}={v}" for k, v in written.items()),
    ]


def _sections(words: list[str]) -> tuple[str, ...]:
    """The sections that the command reads, beside those of the run that it is about."""
    if words[0] in ("run", "study", "adapt"):
        return ("",)
    models = ("teacher.", "judge.", "store.")
    if words[0] == "rescore" or ("--run" in words and "task=" not in " ".join(words)):
        return models
    return (*models, "task.") if "--run" in words else (*models, "task.", "predictor.", "student.")


def _shorter(config: dict[str, Any]) -> Iterator[tuple[str, object]]:
    values = dict(_values(config))
    at_most = AT_MOST
    if config.get("task", {}).get("pressure"):  # it names skills, so each needs a problem
        at_most = {**AT_MOST, "task.n_validation": 20, "task.n_test": 20}
    if str(values.get("agent.engine._target_")).endswith("OrchestrateTriesEngine"):
        at_most = {**at_most, "agent.engine.samples": 3}  # its smallest group
    yield from ((k, v) for k, v in at_most.items() if (values.get(k) or 0) > v)
    small = values.get("task.scenes") == "procedural"  # such a scene has one seat for the student
    own = values.get("task.profiles") is not None  # a few scenes, none of them called hard
    kept = {"task.seats"} if small else {"task.scenes"} if own else set()
    instead = {k: v for k, v in INSTEAD.items() if k in values and k not in kept}
    yield from ((k, new) for k, (old, new) in instead.items() if values[k] == old)


def _had_here(config: dict[str, Any], here: Here) -> Iterator[tuple[str, object]]:
    values = dict(_values(config))
    for key, value in values.items():
        if not isinstance(value, str):
            continue
        if key == "executor._target_" and value.endswith(".SlurmExecutor"):
            yield "executor.cluster", "local"
        if key.endswith(".base_url"):
            yield key, here.models
        elif key == "store.where" and value.startswith("redis:"):
            yield key, here.redis
        elif value == "ADAPTER":
            yield key, None
        elif re.fullmatch(r"student\.path|task\.others\.\w+\.student", key) and (
            "/" in value or value in ("FOLDER", "BASE")
        ):
            yield key, here.student
            yield "task.sampling.max_tokens", 16
            if "task.scenes" in values:  # the others have prompts of some thousand tokens
                yield from (("task.scenes", "procedural"), ("task.seats", "both"))
                yield "task.n_procedural", 20
            if "trainer.cutoff_len" in values:
                yield "trainer.cutoff_len", 4096  # a word is many tokens for that student


def _in_process(config: dict[str, Any]) -> Iterator[tuple[str, object]]:
    for section in ("predictor", "trainer"):
        options = config.get(section, {})
        instead = IN_PROCESS.get(options.get("_target_"))
        if instead:
            known = _plain(compose([]))[section]
            yield f"{section}._target_", instead
            yield from (
                (f"{section}.{k}", _REMOVED) for k in options if k not in known or k == "extra"
            )
            yield from ((f"{section}.{k}", known[k]) for k in _OF_PROGRAMS if k in options)


def _values(config: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Each value with its key, as overrides name it."""
    if isinstance(config, dict):
        for name, value in config.items():
            yield from _values(value, f"{path}.{name}" if path else str(name))
    else:
        yield path, config


def _plain(config: Any) -> dict[str, Any]:
    resolved: Any = OmegaConf.to_container(config, resolve=True)
    return resolved
