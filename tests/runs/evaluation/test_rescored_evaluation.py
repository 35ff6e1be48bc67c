"""`metrics=[judge]`: from a configuration with teachers to verdicts, and judged again."""

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.evaluation import rescore_evaluation, run_evaluation
from dataenvgym.storage import read_json
from dataenvgym.tasks.metrics import JudgeResult
from tests.tasks.judging.judge_server import judge_server, verdict


@pytest.fixture
def server():
    with judge_server() as made:
        yield made


def teacher(server, key="teacher"):
    chosen = "teacher" if key == "teacher" else f"+teacher@{key}"
    url = f"{key}.base_url={server.url}"
    return [f"{chosen}=vllm", f"{key}.model=m", url, f"{key}.cache=null"]


def judge_of(evaluation):
    (found,) = (m for m in evaluation.results.metrics if isinstance(m, JudgeResult))
    return found


def test_the_teacher_judges_every_sample_and_a_second_run_repeats_only_failures(
    small, server, tmp_path
):
    server.say = lambda messages: 500 if len(server.requests) <= 2 else verdict(9)
    asked = [*small, "metrics=[accuracy,judge]", *teacher(server), "teacher.retries=0"]
    first = run_evaluation(asked)
    assert (judge_of(first).value, judge_of(first).n_unscored) == (9, 2)
    assert not first.was_finished
    second = run_evaluation(asked)
    assert (judge_of(second).n_scored, judge_of(second).n_unscored) == (6, 0)
    assert len(server.requests) == 8
    third = run_evaluation(asked)
    assert third.was_finished
    assert third.results == second.results
    assert len(server.requests) == 8
    assert (tmp_path / "e" / "judges" / "teacher" / "teacher" / "usage.json").exists()


def test_samples_that_were_drawn_without_a_judge_are_judged_later(small, server, tmp_path):
    run_evaluation(small)
    rubric = "judge.rubric='Is it ${short}?'"
    evaluation = run_evaluation(
        [*small, "metrics=[judge]", *teacher(server), rubric.replace("$", r"\$")]
    )
    assert judge_of(evaluation).value == 7
    assert read_json(tmp_path / "e" / "results.json")["metrics"][0]["n_scored"] == 6
    assert "Rubric: Is it ${short}?" in server.requests[0]["messages"][-1]["content"]
    again = rescore_evaluation("e", evaluations_dir=tmp_path, trust=True)
    assert (again.after.metrics[0].value, len(server.requests)) == (7, 6)


def test_several_judges_by_name_and_their_agreement(small, server):
    one, other = (teacher(server, f"judge.teachers.{n}") for n in ("one", "other"))
    result = judge_of(run_evaluation([*small, "metrics=[judge]", *one, *other]))
    assert result.failed == {"one": 0, "other": 0}
    assert result.agreement is None  # all scores are the same
    assert result.means == {"one": 7, "other": 7}


def test_a_judge_is_chosen_when_samples_are_judged_again(small, server, tmp_path):
    run_evaluation(small)
    with pytest.raises(ConfigurationError, match="judge: choose"):
        rescore_evaluation("e", ["metrics=[judge]"], evaluations_dir=tmp_path)
    asked = ["metrics=[judge]", *teacher(server), "judge.scale=[0,20]"]
    judged = rescore_evaluation("e", asked, evaluations_dir=tmp_path)
    assert judged.before.metrics[0].value is None
    assert judged.after.metrics[0].value == 7
    assert '"maximum":20' in server.requests[0]["messages"][-1]["content"]


def test_a_received_folder_may_not_choose_which_server_judges(small, server, tmp_path, as_received):
    run_evaluation([*small, "metrics=[judge]", *teacher(server)])
    assert rescore_evaluation("e", evaluations_dir=tmp_path).after.metrics[0].value == 7
    as_received()
    with pytest.raises(ConfigurationError, match="trust"):
        rescore_evaluation("e", evaluations_dir=tmp_path)
    other = rescore_evaluation("e", ["metrics=[accuracy]"], evaluations_dir=tmp_path)
    assert other.after.metrics[0].name == "accuracy"


def test_without_a_teacher_nothing_is_asked_of_the_student(small, tmp_path):
    with pytest.raises(ConfigurationError, match="judge: choose"):
        run_evaluation([*small, "metrics=[judge]"])
    with pytest.raises(ConfigurationError, match="does not judge"):
        run_evaluation([*small, "metrics=[judge]", "teacher=student"])
    with pytest.raises(ConfigurationError, match=r"scale is \[3\.0, 1\.0\]"):
        run_evaluation(
            [*small, "metrics=[judge]", "teacher=vllm", "teacher.model=m", "judge.scale=[3.,1.]"]
        )
    assert not (tmp_path / "e").exists()
