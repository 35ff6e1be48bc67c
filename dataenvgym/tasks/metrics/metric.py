"""The metrics by name, each a mean over instances.

    pass@K              at least one of K samples is right (unbiased)
    pass^K              all K samples are right
    majority@K          the most frequent answer of K samples is right, ties shared
    pass@1[avg-of-K]    the mean accuracy of the first K samples, and its standard deviation
    accuracy            the share of right samples: another name of pass@1
    no_answer_rate      the share of samples without an answer
    error_rate          the share of samples whose infrastructure failed
    judge               the mean score that judges give the samples (see `metrics.judged_samples`)
    best@K              the sample of K with the best score of `judge` is right, ties shared

All except `error_rate` ignore samples with an error. `pass@1[avg-of-K]` computes the accuracy of
each sample over all instances, and averages over samples. Without failures, and with K as the
number of all samples, it equals pass@1; its standard deviation shows how much single samples vary.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dataenvgym.errors import ConfigurationError, did_you_mean
from dataenvgym.records import Model
from dataenvgym.tasks.metrics.estimators import estimate, majority_at_k, pass_at_k, pass_hat_k
from dataenvgym.tasks.metrics.samples import Tally

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
BEST = "best@{}"
_FORMS = (*_ONE_OF_K, _AVERAGE, _ACCURACY, *_RATES, JUDGE, BEST)


class MetricResult(Model):
    """A metric over all instances.

    Attributes:
        name: such as "pass@5".
        value: None if no instance has enough samples.
        half_width: half of the 95% interval over instances by Student's t (for another set of
            similar problems); None for fewer than two instances, or if all have the same value.
        sd: for `pass@1[avg-of-K]`, the standard deviation (n - 1) of the accuracy over samples
            (for the same problems, sampled again); None for other metrics, and for fewer than two
            samples.
        n: the number of instances in the mean.
        left_out: the number of instances with too few samples without an error.
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
        left_out: instances without any scored sample.
        n_scored: samples with a score.
        n_unscored: samples without a score, because too few judges gave a readable verdict, or
            there was no majority. They are not in `value`.
        failed: for each judge, the number of samples without its verdict.
        means: for each judge, the mean of its scores.
        agreement: Krippendorff's alpha of several judges; None if it is undefined.
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
        """True if it is computed from judges' verdicts instead of tallies."""
        return self.form in (JUDGE, BEST)

    def of(self, tallies: Sequence[Tally]) -> MetricResult:
        """The metric over all instances; ConfigurationError without enough samples or a judge."""
        if self.needs_judge:
            raise ConfigurationError(
                f"the metric {self.name!r} needs a judge, and there is none: see "
                "dataenvgym.tasks.metrics.judge_samples"
            )
        drawn = max((len(t.outcomes) for t in tallies), default=0)
        check_metrics([self], drawn)
        found = [value for t in tallies if (value := self._value(t)) is not None]
        over_instances = estimate(found)
        value, sd = over_instances.mean, None
        if self.form == _AVERAGE:
            # mean and deviation of the accuracies of the first k samples over all instances
            columns = ([t.outcomes[i] for t in tallies if i < len(t.outcomes)]
                       for i in range(self.k))  # fmt: skip
            judged = ([o for o in column if o is not None] for column in columns)
            over = estimate([math.fsum(column) / len(column) for column in judged if column])
            value, sd = over.mean, over.sd
        return MetricResult(
            name=self.name,
            value=value,
            half_width=over_instances.half_width if over_instances.sd else None,
            sd=sd,
            n=len(found),
            left_out=len(tallies) - len(found),
        )

    def _value(self, t: Tally) -> float | None:
        """The value for one instance; None if it has too few samples without an error."""
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


def parse_metric(name: str) -> Metric:
    """Parse the name of a metric; ConfigurationError if it is not one, or its k is 0."""
    for form in _FORMS:
        if match := re.fullmatch(re.escape(form).replace(r"\{\}", r"0*([1-9]\d*)"), name):
            return Metric(form, int(match[1]) if "{}" in form else 0)
    known = [form.format("K") for form in _FORMS]
    meant = did_you_mean(re.sub(r"(?<=[@^])\d+$|(?<=of-)\d+", "K", name), known)
    raise ConfigurationError(
        f"metrics has {name!r}, and there is no such metric.{meant} They are: {', '.join(known)}. "
        "K is 1 or more, such as pass@5."
    )


def parse_metrics(names: Sequence[str] | None, samples: int) -> tuple[Metric, ...]:
    """Parse the names of metrics for this number of samples.

    Args:
        names: a list; repeated names count once. None takes the default for the number of samples.

    Raises:
        ConfigurationError: for an empty list, an unknown metric, or a k larger than `samples`.
    """
    if names is not None and (isinstance(names, str) or not names):
        raise ConfigurationError(f"metrics is {names!r}, expected a list such as metrics=[pass@1]")
    forms = ("pass@1",) if samples == 1 else (_AVERAGE, "pass@{}", "pass^{}", "majority@{}")
    given = [*(form.format(samples) for form in forms), *_RATES] if names is None else names
    metrics = tuple(dict.fromkeys(map(parse_metric, given)))
    if (best := next((m for m in metrics if m.form == BEST), None)) and Metric(
        JUDGE
    ) not in metrics:
        raise ConfigurationError(
            f"metrics has {best.name!r}, which takes the best sample by a judge's scores, and no "
            f"'judge': metrics=[judge,{best.name}]"
        )
    check_metrics(metrics, samples)
    return metrics


def check_metrics(metrics: Sequence[Metric], samples: int) -> None:
    """Refuse metrics that need more samples than there are; ConfigurationError names k and n."""
    for metric in metrics:
        if metric.k > samples:
            raise ConfigurationError(
                f"{metric.name} needs k = {metric.k} samples of each instance, and there are "
                f"n = {samples}: draw more (samples={metric.k}), or ask for a smaller k"
            )


def quoted_metrics(override: str) -> str:
    """Quote the names in `metrics=[pass^3,...]`: Hydra's grammar needs quotes around `^` and `[`.

    Other texts, and names that already have quotes, stay unchanged.
    """
    match = re.fullmatch(r"(\+{0,2}metrics=)(.+)", override)
    if match is None or re.search(r"['\"$]|^null$|^\[.*[^]]$", match[2]):
        return override
    inner = match[2][1:-1] if match[2].startswith("[") else match[2]
    # a comma within brackets does not separate names
    names = [name.strip() for name in re.split(r",(?![^\[]*\])", inner) if name.strip()]
    quoted = ",".join(f'"{name}"' for name in names)
    return f"{match[1]}[{quoted}]"
