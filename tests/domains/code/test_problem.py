from dataenvgym.domains.code.problem import CallTest, CodeProblem
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
