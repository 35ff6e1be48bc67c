"""Evaluation of a student with several samples (tries) of each problem.

    estimates       a mean with its 95% interval
    estimators      pass@k, pass^k and majority@k from the counts of one instance's samples
    answers         reads the answers of replies, and compares them
    samples         one try at one problem, as saved
    metric          the metrics by name (`pass@5`, `majority@8`, ...) over all instances
    files           the folder of an evaluation
    judged_samples  judges' verdicts on the samples, for the metric `judge`
    sampling        draws the samples that a folder lacks
    rescoring       judges saved samples again, without asking the student
    results         tallies, metrics and scores by skill of a folder

A sample whose infrastructure failed is not a wrong answer: no estimator includes it, and
`error_rate` counts it. An instance with fewer than k other samples is left out of metrics that need
k samples; the results count these instances.
"""

from typing import TYPE_CHECKING

from dataenvgym.registration import names_in

if TYPE_CHECKING:
    from dataenvgym.tasks.metrics.estimators import majority_at_k, pass_at_k, pass_hat_k
    from dataenvgym.tasks.metrics.files import EvaluationFiles
    from dataenvgym.tasks.metrics.judged_samples import judge_samples
    from dataenvgym.tasks.metrics.metric import JudgeResult, parse_metric, parse_metrics
    from dataenvgym.tasks.metrics.rescoring import rescore, rescore_folder
    from dataenvgym.tasks.metrics.results import sum_up
    from dataenvgym.tasks.metrics.samples import Tally
    from dataenvgym.tasks.metrics.sampling import draw_samples
else:
    __getattr__ = names_in(__name__)

__all__ = [
    "EvaluationFiles",
    "JudgeResult",
    "Tally",
    "draw_samples",
    "judge_samples",
    "majority_at_k",
    "parse_metric",
    "parse_metrics",
    "pass_at_k",
    "pass_hat_k",
    "rescore",
    "rescore_folder",
    "sum_up",
]
