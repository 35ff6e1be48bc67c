"""An iteration of a run as it was trained, and groups of its records."""

from __future__ import annotations

from pathlib import Path

from dataenvgym.environments.history import History
from dataenvgym.environments.iterations import IterationResult
from dataenvgym.environments.options import TeachingOptions
from dataenvgym.environments.student import training_records
from dataenvgym.episodes.attribution import BY_RECORD, fingerprint
from dataenvgym.episodes.run_files import RunFiles
from dataenvgym.errors import ConfigurationError, RunDirectoryError, did_you_mean
from dataenvgym.llama_factory import stage_of
from dataenvgym.records import TrainingDatum
from dataenvgym.seeding import derive_rng
from dataenvgym.storage import read_json

BY = ("skill", "subskill", "agent", "iteration", "kind", BY_RECORD)


class TrainedIteration:
    """An iteration of a finished run that trained the student, as it was trained.

    Args:
        directory: of the run.
        number: of the iteration; None takes the best one of those with records.

    Attributes:
        records: all that it was trained on, also those of earlier iterations.
        before: the iteration whose adapter it began with; None for the untouched student.

    Raises:
        RunDirectoryError: if the run is not finished, or the iteration trained on nothing, or the
            gate refused its student.
    """

    def __init__(self, directory: Path, number: int | None) -> None:
        run = RunFiles(directory)
        if run.summary.status != "finished":
            raise RunDirectoryError(
                f"the run {directory.name!r} is {run.summary.status}, expected a finished one: the "
                "command that began it finishes it"
            )
        self.results = run.results
        taught = [r for r in run.results if r.adapter == r.iteration]
        if not taught:
            raise RunDirectoryError(
                f"the run {directory.name!r} has no iteration with records whose student the gate "
                "let pass, so there is nothing to leave out: choose a run that has one"
            )
        if number is None:
            number = max(taught, key=lambda r: (r.val_score, -r.iteration)).iteration
        files = run.iteration(number)
        self.result: IterationResult = run.results[number]
        if self.result not in taught:
            numbers = ", ".join(str(r.iteration) for r in taught)
            reason = "trained on no records"
            if self.result.refused is not None:
                reason = "has a student that the gate refused"
            raise RunDirectoryError(
                f"iteration {number} of {directory.name!r} {reason}, expected one of {numbers}"
            )
        identity = run.environment
        known = {n: identity[n] for n in TeachingOptions.__dataclass_fields__ if n in identity}
        self.options = TeachingOptions(**known)
        self.seed = int(identity.get("seed", run.summary.seed))
        self.root, self.number, self.files = directory / "iterations", number, files
        self.before = run.results[number - 1].adapter
        history = History.of(self.root, run.iterations[:number], self.options)
        self.records: list[TrainingDatum] = training_records(
            self.options, number, files.read_records(), history, seed=self.seed
        )
        self.stage = stage_of(self.records[0])
        self.fingerprint = fingerprint(self.result)

    def groups(
        self, by: str, file: str | Path | None, limit: int | None, seed: int
    ) -> dict[str, frozenset[int]]:
        """The positions of each group's records, by the group's name."""
        found: dict[str, list[int]] = {}
        places = {record.provenance.id: i for i, record in enumerate(self.records)}
        if file is not None:
            for name, ids in _read_groups(Path(file).expanduser()).items():
                if unknown := [one for one in ids if one not in places]:
                    raise ConfigurationError(
                        f"{file}, group {name!r}: iteration {self.number} was not trained on "
                        f"{', '.join(map(repr, unknown[:3]))} ({len(unknown)} of {len(ids)} ids), "
                        f"expected ids of its {len(places)} records, such as {next(iter(places))!r}"
                        f".{did_you_mean(unknown[0], places)}"
                    )
                found[name] = [places[one] for one in ids]
        else:
            for i, record in enumerate(self.records):
                source = record.provenance
                value = {BY_RECORD: source.id, "kind": record.kind}.get(by) or getattr(
                    source, by, None
                )
                found.setdefault("(none)" if value is None else str(value), []).append(i)
        names = sorted(found)
        if limit is not None and limit < len(names):
            # a larger limit keeps those of a smaller one
            order = derive_rng(seed, "attribution").permutation(len(names)).tolist()
            names = [names[i] for i in sorted(order[:limit])]
        return {name: frozenset(found[name]) for name in names}


def _read_groups(path: Path) -> dict[str, list[str]]:
    expected = 'expected JSON such as {"suspicious": ["001-00003", "001-00004"]}'
    if not path.is_file():
        raise ConfigurationError(f"--groups is {str(path)!r}, where there is no file; {expected}")
    try:
        found = read_json(path)
    except ValueError as error:
        raise ConfigurationError(f"{error}; {expected}") from error
    if not isinstance(found, dict) or not found:
        raise ConfigurationError(f"{path} has {found!r:.80}, {expected}")
    for name, ids in found.items():
        is_list = isinstance(ids, list) and ids and all(isinstance(one, str) for one in ids)
        if not is_list:
            raise ConfigurationError(f"{path}, group {name!r}, has {ids!r:.80}; {expected}")
    return found
