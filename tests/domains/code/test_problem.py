import pytest
from pydantic import ValidationError

from dataenvgym.domains.code.problem import CallTest, CodeProblem
from dataenvgym.errors import InvalidInstanceError
from dataenvgym.records import TaskInstance


def test_a_problem_comes_back_from_the_data_of_its_instance():
    problem = CodeProblem(
        entry_point="f",
        starter="def f(x):\n",
        public=[[[1, [2]], {"k": None}, {"a": 1.5}]],
        hidden=[{"kind": "program", "code": "assert f(1)"}, {"kind": "stdio", "output": "1"}],
        tests_share_process=True,
    )
    assert problem.public == (CallTest(args=(1, [2]), kwargs={"k": None}, expected={"a": 1.5}),)
    assert problem.tests == (*problem.public, *problem.hidden)
    instance = TaskInstance(id="p", task="t", instruction="?", data=problem.data())
    again = TaskInstance.model_validate_json(instance.model_dump_json())
    assert again.data_as(CodeProblem) == problem


def test_an_instance_of_another_kind_is_refused_naming_the_field():
    instance = TaskInstance(id="p", task="t", instruction="?", data={"hidden": [{"kind": "call"}]})
    with pytest.raises(InvalidInstanceError, match=r"'p': hidden\.0"):
        instance.data_as(CodeProblem)
    with pytest.raises(InvalidInstanceError, match="no tests"):
        TaskInstance(id="p", task="t", instruction="?").data_as(CodeProblem)


def test_a_misspelled_field_is_refused():
    with pytest.raises(ValidationError, match="entrypoint"):
        CodeProblem(  # type: ignore[call-arg]
            entrypoint="f", hidden=[{"kind": "stdio", "output": ""}]
        )
