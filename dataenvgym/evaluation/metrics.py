"""The metrics by name, each a mean over instances.

    pass@K              one at least of K samples is right (unbiased)
    pass^K              all of K samples are right
    majority@K          the most frequent answer of K samples is right, ties shared
    pass@1[avg-of-K]    the mean accuracy of the first K samples, and its standard deviation
    accuracy            the share of samples that are right: pass@1, by another name
    no_answer_rate      the share of samples without an answer
    error_rate          the share of samples whose infrastructure failed
    judge               the mean score that judges give the samples (see `evaluation.judged`)

All but `error_rate` are about the samples without an error. `pass@1[avg-of-K]` is a mean over
samples, of what each comes to over all instances: where none failed and K is all of them, it is
pass@1, and its standard deviation says how much a single sample would have been off.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.evaluation.estimates import estimate
from dataenvgym.evaluation.estimators import majority_at_k, pass_at_k, pass_hat_k
from dataenvgym.evaluation.tallies import Tally
from dataenvgym.records import Model

_ONE_OF_K: dict[str, Callable[[Tally, int], float]] = {
    "pass@{}": lambda t, k: pass_at_k(t.n, t.n_correct, k),
    "pass^{}": lambda t, k: pass_hat_k(t.n, t.n_correct, k),
    "majority@{}": lambda t, k: majority_at_k(t.classes, t.n_silent, k),
}
_AVERAGE = "pass@1[avg-of-{}]"
ERROR_RATE = "error_rate"
_RATES = ("no_answer_rate", ERROR_RATE)
_ACCURACY = "accuracy"
JUDGE = "judge"
_FORMS = (*_ONE_OF_K, _AVERAGE, _ACCURACY, *_RATES, JUDGE)


class MetricResult(Model):
    """A metric over all instances.

    Attributes:
        name: such as "pass@5".
        value: None where no instance has enough samples.
        half_width: half of the 95% interval over instances by Student's t (another set of
            problems like these); None below two instances, and where all have the same value.
        sd: of `pass@1[avg-of-K]`: the standard deviation (n - 1) of the accuracy from sample to
            sample (the same problems, drawn again); None for other metrics and below two samples.
        n: instances that it is about.
        left_out: instances with too few samples without an error.
    """

    name: str
    value: float | None
    half_width: float | None = None
    sd: float | None = None
    n: int
    left_out: int = 0


class JudgeResult(MetricResult):
    """Judges' scores: `value` is the mean over instances of the mean over their samples.

    Attributes:
        left_out: instances none of whose samples has a score.
        n_scored: samples with a score.
        n_unscored: samples without one, because too few judges gave a verdict that can be read,
            or had no majority. They are not in `value`.
        failed: of each judge, how many samples it gave no verdict on.
        means: of each judge, the mean of its scores.
        agreement: of several judges, Krippendorff's alpha; None where it is not defined.
    """

    n_scored: int
    n_unscored: int
    failed: dict[str, int]
    means: dict[str, float]
    agreement: float | None = None


@dataclass(frozen=True)
class Metric:
    """A metric: its form, such as "pass@{}", and its k (0 where the form has none)."""

    form: str
    k: int = 0

    @property
    def name(self) -> str:
        return self.form.format(self.k)

    @property
    def needs_judge(self) -> bool:
        """Whether it is made of judges' verdicts, and not of tallies."""
        return self.form == JUDGE

    def of(self, tallies: Sequence[Tally]) -> MetricResult:
        """The metric over all instances, unless it needs a judge.

        Raises:
            ConfigurationError: if it is about more samples than were drawn, or needs a judge.
        """
        if self.needs_judge:
            raise ConfigurationError(
                f"the metric {self.name!r} needs a judge, and there is none: see "
                "dataenvgym.evaluation.judge_samples"
            )
        drawn = max((len(t.outcomes) for t in tallies), default=0)
        check_metrics([self], drawn)
        found = [value for t in tallies if (value := self._value(t)) is not None]
        over_instances = estimate(found)
        value, sd = over_instances.mean, None
        if self.form == _AVERAGE:
            value, sd = _over_samples(tallies, self.k)
        return MetricResult(
            name=self.name,
            value=value,
            half_width=over_instances.half_width if over_instances.sd else None,
            sd=sd,
            n=len(found),
            left_out=len(tallies) - len(found),
        )

    def _value(self, t: Tally) -> float | None:
        """Of one instance; None if it has too few samples without an error."""
        if self.form in _ONE_OF_K:
            return _ONE_OF_K[self.form](t, self.k) if t.n >= self.k else None
        if self.form == _AVERAGE:
            judged = [o for o in t.outcomes[: self.k] if o is not None]
            return sum(judged) / len(judged) if judged else None
        if self.form == _ACCURACY:
            return t.n_correct / t.n if t.n else None
        if self.form == "no_answer_rate":
            return t.n_silent / t.n if t.n else None
        return t.n_errors / len(t.outcomes)


def parse_metric(name: object) -> Metric:
    """The metric of that name.

    Raises:
        ConfigurationError: if it is not the name of one, or its k is 0.
    """
    if not isinstance(name, str):
        raise ConfigurationError(f"metrics has {name!r}, expected a name such as 'pass@1'")
    for form in _FORMS:
        if match := re.fullmatch(re.escape(form).replace(r"\{\}", r"(\d+)"), name):
            k = int(match[1]) if "{}" in form else 0
            if "{}" in form and k < 1:
                raise ConfigurationError(f"metrics has {name!r}, expected K to be 1 or more")
            return Metric(form, k)
    known = [form.format("K") for form in _FORMS]
    meant = did_you_mean(re.sub(r"(?<=[@^])\d+$|(?<=of-)\d+", "K", name), known)
    raise ConfigurationError(
        f"metrics has {name!r}, and there is no such metric.{meant} They are: {', '.join(known)}."
    )


def parse_metrics(names: object, samples: int) -> tuple[Metric, ...]:
    """The metrics of these names, all of which that many samples suffice for.

    Args:
        names: a list of them, each of which counts once; None is the default for the number of
            samples.

    Raises:
        ConfigurationError: if there are none, for what is no name of a metric, or for a k that is
            more than `samples`.
    """
    if names is not None and (isinstance(names, str) or not isinstance(names, Sequence)):
        raise ConfigurationError(f"metrics is {names!r}, expected a list such as metrics=[pass@1]")
    if names is not None and not names:
        raise ConfigurationError(
            "metrics is empty, expected one at least, such as metrics=[pass@1], or null for what "
            "suits the number of samples"
        )
    given = _default(samples) if names is None else names
    metrics = tuple(dict.fromkeys(map(parse_metric, given)))
    check_metrics(metrics, samples)
    return metrics


def check_metrics(metrics: Sequence[Metric], samples: int) -> None:
    """Refuse metrics of more samples than there are.

    Raises:
        ConfigurationError: naming the metric, its k, and n.
    """
    for metric in metrics:
        if metric.k > samples:
            raise ConfigurationError(
                f"{metric.name} needs k = {metric.k} samples of each instance, and there are "
                f"n = {samples}: draw more (samples={metric.k}), or ask for a smaller k"
            )


def _default(samples: int) -> tuple[str, ...]:
    if samples == 1:
        return ("pass@1", *_RATES)
    forms = (_AVERAGE, "pass@{}", "pass^{}", "majority@{}")
    return (*(form.format(samples) for form in forms), *_RATES)


def _over_samples(tallies: Sequence[Tally], k: int) -> tuple[float | None, float | None]:
    """Mean and standard deviation of the first k samples' accuracies over all instances."""
    columns = [[t.outcomes[i] for t in tallies if i < len(t.outcomes)] for i in range(k)]
    judged = [[o for o in column if o is not None] for column in columns]
    found = estimate([math.fsum(column) / len(column) for column in judged if column])
    return found.mean, found.sd


def quoted_metrics(override: str) -> str:
    """`metrics=[pass^3,...]` as Hydra's grammar has it, which wants quotes around `^` and `[`.

    Anything else, and names that have quotes already, are left as they are.
    """
    match = re.fullmatch(r"(\+{0,2}metrics=)(.+)", override)
    if match is None or re.search(r"['\"$]|^null$|^\[.*[^]]$", match[2]):
        return override
    inner = match[2][1:-1] if match[2].startswith("[") else match[2]
    # a comma within brackets is none of the list's
    names = [name.strip() for name in re.split(r",(?![^\[]*\])", inner) if name.strip()]
    quoted = ",".join(f'"{name}"' for name in names)
    return f"{match[1]}[{quoted}]"
