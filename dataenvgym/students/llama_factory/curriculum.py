"""A curriculum: the sections of a training, each with its own mixture of records.

It is an option of our in-process trainer; LLaMA-Factory has none like it. A user names groups of
records by their skill (or another field); when the records of a training are known, `placed` looks
up their positions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.events import warn_run
from dataenvgym.records import Model, TrainingDatum

Share = Annotated[float, Field(gt=0.0, le=1.0)]


Name = Annotated[str, BeforeValidator(lambda n: str(n) if isinstance(n, int) else n)]
"""An iteration or a level as YAML reads it, as text."""


class Section(Model):
    """A part of a training.

    Attributes:
        mix: the share of each group of records; the shares sum to 1.
        epochs: the most epochs; each has as many records as the groups have together, and repeats
            or leaves out some where a share is larger or smaller than the group.
        until_loss: go on to the next section after an epoch with at most this mean loss.
        until_accuracy: go on after an epoch from which on at least this share of the tokens that
            the section teaches is the student's most likely one.
    """

    mix: Mapping[Name, Share] = Field(min_length=1)
    epochs: int = Field(default=1, ge=1)
    until_loss: float | None = Field(default=None, gt=0.0)
    until_accuracy: float | None = Field(default=None, gt=0.0, le=1.0)

    @field_validator("mix")
    @classmethod
    def _sums_to_one(cls, mix: Mapping[str, float]) -> Mapping[str, float]:
        if abs((total := sum(mix.values())) - 1.0) > 1e-6:
            raise ValueError(f"its shares sum to {total:g}, expected 1")
        return mix

    def numbers(self, groups: Mapping[str, Sequence[int]]) -> dict[str, int]:
        """How many records of each group an epoch has, by the positions of the groups' records."""
        total = sum(len(groups[name]) for name in self.mix)
        ends = [0, *(round(share * total) for share in accumulate(self.mix.values()))]
        counts = (end - begin for begin, end in pairwise(ends))
        return dict(zip(self.mix, counts, strict=True))


class Curriculum(Model):
    """Sections, one after another.

    Attributes:
        by: the field of a record's provenance that names its group, or its kind.
        sections: in their order.
        groups: positions of the records of each group; `placed` fills it.
    """

    by: Literal["skill", "subskill", "agent", "iteration", "kind"] = "skill"
    sections: tuple[Section, ...] = Field(min_length=1)
    groups: Mapping[str, tuple[int, ...]] = {}

    def placed(self, records: Sequence[TrainingDatum]) -> Curriculum:
        """The curriculum with the positions of these records; warns of records in no section.

        Raises:
            ConfigurationError: if a section names a group that no record is in.
        """
        groups: defaultdict[str, list[int]] = defaultdict(list)
        for i, record in enumerate(records):
            found = record.kind if self.by == "kind" else getattr(record.provenance, self.by)
            groups[str(found)].append(i)
        named = {name for section in self.sections for name in section.mix}
        for number, section in enumerate(self.sections, start=1):
            for name in section.mix:
                if name not in groups:
                    raise ConfigurationError(
                        f"section {number} of trainer.curriculum names the {self.by} {name!r}, and "
                        f"no record of this training has it.{did_you_mean(name, groups)} They "
                        f"have: {', '.join(sorted(groups))}"
                    )
        if left := sorted(groups.keys() - named):
            n_left = sum(len(groups[name]) for name in left)
            warn_run(
                f"{n_left} of {len(records)} records are in no section of trainer.curriculum, and "
                f"are not trained on: {self.by} {', '.join(left)}"
            )
        placed = {name: tuple(groups[name]) for name in sorted(named)}
        for number, section in enumerate(self.sections, start=1):
            if none := [name for name, n in section.numbers(placed).items() if not n]:
                warn_run(
                    f"section {number} of trainer.curriculum has too few records for the share of "
                    f"{self.by} {', '.join(none)}: none of them are trained on in it"
                )
        return self.model_copy(update={"groups": placed})
