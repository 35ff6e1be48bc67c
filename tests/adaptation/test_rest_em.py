import pytest

from dataenvgym.adaptation import EditResult, RestEM, kept_edits
from dataenvgym.adaptation.rest_em import policy_record
from dataenvgym.errors import ConfigurationError
from dataenvgym.records import Message


def edits(*means, baseline=0.6, context="c"):
    return [
        EditResult(context=context, sample=i, text=f"edit {i}", baseline=baseline, accuracies=each)
        for i, each in enumerate(m if isinstance(m, tuple) else (m,) for m in means)
    ]


def samples(results):
    return [result.sample for result in results]


def test_the_first_of_the_best_means_is_kept():
    assert samples(kept_edits(edits(0.2, 0.6, 0.6))) == [1]
    assert samples(kept_edits(edits((0.2, 0.4), (1.0, 0.0), (0.5, 0.4)))) == [1]
    two = [*edits(0.2, 0.6), *edits(0.0, 0.0, 0.1, context="d")]
    assert [(r.context, r.sample) for r in kept_edits(two)] == [("c", 1), ("d", 2)]


def test_with_gain_required_nothing_is_kept_that_only_equals_the_base():
    assert kept_edits(edits(0.2, 0.6, 0.6), needs_gain=True) == []
    assert samples(kept_edits(edits(0.2, 0.6, 0.7), needs_gain=True)) == [2]


def test_every_success_is_kept_where_the_score_is_binary():
    assert samples(kept_edits(edits(1.0, 0.0, 1.0, (1.0, 0.0)), "successes")) == [0, 2]


def test_an_edit_that_failed_or_was_not_scored_is_never_kept():
    bad, empty, unscored, best = edits(1.0, 1.0, None, 0.1)
    bad = bad.model_copy(update={"failure": "there is no JSON object"})
    empty = empty.model_copy(update={"text": ""})
    assert samples(kept_edits([bad, empty, unscored, best])) == [3]
    assert kept_edits([bad, empty, unscored], "successes") == []


def test_a_partly_scored_edit_has_the_mean_of_what_was_scored():
    assert samples(kept_edits(edits((None, 0.5), (0.4, 0.4)))) == [0]


def test_the_writer_learns_the_prompt_of_an_edit_and_the_edit():
    prompt = (Message(role="system", content="s"), Message(role="user", content="write"))
    record = policy_record(prompt, "1. A")
    assert (record.prompt, record.messages[-1].content) == (prompt, "1. A")


@pytest.mark.parametrize(
    ("option", "value"), [("rounds", 0), ("keep", "all"), ("contexts", 0), ("split", "dev")]
)
def test_impossible_options_are_refused(option, value):
    with pytest.raises(ConfigurationError, match=option):
        RestEM(None, **{option: value})
