"""All tries at one problem, counted."""

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.tasks.metrics.samples import Judgment, tally, tally_all

TASK = PocketMathTask(n_validation=2)


def judged(answer: str | None, right: bool = False, error: str | None = None) -> Judgment:
    return Judgment(reward=float(right), was_correct=right, error=error, answer_class=answer)


def test_samples_are_counted_by_outcome_and_answer():
    found = tally(
        TASK,
        TASK.instances[0],
        [
            judged("1/2", True),
            judged("3"),
            judged(None),
            judged(None, error="e"),
            judged("0.5", True),
        ],
    )
    assert (found.n, found.n_correct, found.n_errors, found.n_silent) == (4, 2, 1, 1)
    assert found.outcomes == (True, False, False, None, True)
    assert (found.answers, found.votes) == (("1/2", "3"), (0, 1, None, None, 0))
    assert found.classes == [(2, 2), (1, 0)]


def test_each_instance_has_its_own_samples():
    one, other = TASK.instances
    pairs = [(other.id, judged("1")), (one.id, judged("2")), (other.id, judged("3", True))]
    tallies = tally_all(TASK, [one, other], pairs)
    assert [t.instance_id for t in tallies] == [one.id, other.id]
    assert [t.outcomes for t in tallies] == [(False,), (False, True)]
