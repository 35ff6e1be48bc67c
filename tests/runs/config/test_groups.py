"""Options that are not files: rows of tables, named classes, and classes of one's own."""

import re
import subprocess
import sys
from importlib.metadata import entry_points

import pytest

from dataenvgym.cli.main import main
from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import (
    build_agent,
    build_environment,
    build_predictor,
    build_task,
    compose,
)
from dataenvgym.runs.config.commented_yaml import describe
from dataenvgym.runs.config.groups import ENTRY_POINTS, options_by_group
from dataenvgym.runs.config.instantiation import build_value

MODULE = '''
from dataenvgym.environments import OpenEnded
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.domains.math.pocket import PocketMathTask


class Part:
    """The methods of every part."""

    reason, skills = "mine", ("reversed",)

    def generate(self, plan, predictor, rng): ...
    def plan(self, situation, count, rng): ...
    def train(self, config_path): ...
    def label(self, instances): ...
    def passes(self, records, predictor): ...
    def __call__(self, completed, predictor): ...
    def step(self): ...


class MyAgent(Part):
    def __init__(self, size=1, seed=None):
        self.size, self.seed = size, seed


class MyEngine(Part): ...
class MyPolicy(Part): ...
class MyTrainer(Part): ...
class MySkills(Part): ...
class MyCheck(Part): ...


class MyTask(PocketMathTask):
    def __init__(self):
        super().__init__(n_validation=20, n_test=20)


class Quick(ScriptedPredictor):
    def __init__(self, wit=1):
        super().__init__(lambda conversation: "#### 1")
        self.wit = wit


class MyStudent(Quick):
    def __init__(self, trainer):
        super().__init__()
        self.trainer = trainer


class MyEnvironment(OpenEnded): ...
class Nothing: ...


NUMBER = 3
made = MyAgent()
'''


@pytest.fixture(autouse=True)
def own_module(tmp_path, monkeypatch):
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "broken.py").write_text("class MyAgent(:\n")
    (tmp_path / "importing.py").write_text("import impor\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    return tmp_path


def named(thing: object) -> str:
    return type(thing).__name__


def test_any_group_takes_a_class_by_its_dotted_name():
    config = compose(
        [
            *("agent/engine=mine.MyEngine", "agent/policy=mine.MyPolicy", "task=mine.MyTask"),
            *("predictor=mine.MyStudent", "trainer=mine.MyTrainer", "skills=mine.MySkills"),
            *("quality=mine.MyCheck", "environment=mine.MyEnvironment"),
        ]
    )
    task, student = build_task(config), build_predictor(config)
    assert [named(task), named(student), named(student.trainer)] == [
        "MyTask", "MyStudent", "MyTrainer",
    ]  # fmt: skip
    agent = build_agent(config)
    assert [named(agent.policy), named(agent.engine)] == ["MyPolicy", "MyEngine"]
    environment = build_environment(config, task=task, predictor=student).unwrapped
    assert [named(environment), named(environment.labeler)] == ["MyEnvironment", "MySkills"]
    assert [check.reason for check in environment.quality] == ["mine"]


def test_arguments_of_a_class_are_added_and_a_colon_or_quotes_will_do():
    for text in ("mine.MyAgent", "mine:MyAgent", "'mine.MyAgent'"):
        agent = build_agent(compose([f"agent={text}", "+agent.size=3"]))
        assert (named(agent), agent.size) == ("MyAgent", 3)


def test_the_trainer_goes_to_a_predictor_that_takes_one_and_the_seed_to_an_agent_without():
    assert build_predictor(compose(["predictor=mine.Quick", "+predictor.wit=5"])).wit == 5
    assert build_predictor(compose(["predictor=mine.MyStudent"])).trainer.config.lora_rank == 16
    assert [build_agent(compose(["agent=mine.MyAgent", f"seed={s}"])).seed for s in (0, 7)] == [
        0,
        7,
    ]
    assert build_agent(compose(["agent=mine.MyAgent", "+agent.seed=3", "seed=7"])).seed == 3


def test_given_objects_are_passed_by_parameter_name_unless_the_section_sets_them():
    agent = {"_target_": "mine.MyAgent"}
    value = {"a": [agent], "b": {**agent, "size": 2}, "c": {"size": 3}}
    made = build_value(value, "things", {"size": 7, "speed": 1})
    assert (made["a"][0].size, made["b"].size, made["c"]) == (7, 2, {"size": 3})


def test_every_group_with_a_custom_option_has_entry_points_and_the_other_way_round():
    groups = options_by_group()
    assert {group for group in groups if "custom" in groups[group]} == set(ENTRY_POINTS)


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ("+agent._target_=MyAgent", "my_module.MyClass"),
        ("agent/engine=mine.Nothing", "agent.engine Nothing generate"),
        ("agent/policy=mine.Nothing", "agent.policy Nothing plan"),
        ("agent=mine.made", "agent: MyAgent"),
        ("agent=broken.MyAgent", "broken.py"),
        ("agent=importing.MyAgent", "'impor'"),
        ("predictor=mine.Nothing", "predictor Nothing load"),
        ("trainer=mine.Nothing", "trainer Nothing train"),
        ("skills=mine.Nothing", "skills Nothing label"),
        ("quality=mine.Nothing", "quality Nothing passes, reason"),
        ("teacher=mine.Nothing", "teacher Nothing ask"),
        ("environment=mine.Nothing", "environment: Nothing"),
        ("skills=clusters skills/embedder=mine.Nothing", "skills.embedder Nothing"),
    ],
)
def test_a_class_that_will_not_do_is_refused_by_name(override, words):
    build = build_agent if "agent" in override else build_environment
    with pytest.raises(ConfigurationError) as caught:
        build(compose(override.split()))
    assert all(word in str(caught.value) for word in words.split())


@pytest.fixture
def package(own_module):
    """An installed package that offers an agent, a task, and a name that is taken already."""
    folder = own_module / "fancy_package-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: fancy-package\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(
        "[dataenvgym.agents]\nfancy = mine:MyAgent\nrandom = mine:MyAgent\n"
        "[dataenvgym.tasks]\nfancy_task = mine:MyTask\n"
    )


def test_an_installed_package_offers_options_and_hides_none_of_ours(package):
    assert named(build_agent(compose(["agent=fancy"]))) == "MyAgent"
    assert named(build_task(compose(["task=fancy_task"]))) == "MyTask"
    assert compose(["agent=random"]).agent.name == "random"
    with pytest.raises(ConfigurationError, match="mean 'fancy'"):
        compose(["agent=fancyy"])


def test_options_of_packages_are_listed(package, capsys):
    assert main(["list", "agent"]) == 0
    out = capsys.readouterr().out
    assert re.search(r"^   fancy +From fancy-package: mine\.MyAgent *$", out, re.MULTILINE)
    assert "mine.MyAgent" not in "".join(line for line in out.splitlines() if " random " in line)


def test_a_file_of_the_user_hides_a_row_and_a_row_hides_a_named_class(tmp_path):
    for group in ("agent", "agent/engine"):
        (tmp_path / group).mkdir()
    (tmp_path / "agent" / "gold.yaml").write_text(
        "# Mine\ndefaults: [_open_ended, {policy: free}, {engine: gold}, _self_]\nname: mine\n"
    )
    (tmp_path / "agent" / "_options.yaml").write_text("gold: {name: no}\nnew:\n  name: new\n")
    (tmp_path / "agent" / "engine" / "_options.yaml").write_text(
        "# Engines\n\n# Mine\ngold:\n  _target_: dataenvgym.agents.PocketEngine\n"
    )
    config = compose(["agent=gold"], config_dir=tmp_path)
    assert config.agent.name == "mine"
    assert config.agent.policy._target_ == "dataenvgym.agents.FreePolicy"
    assert config.agent.engine._target_ == "dataenvgym.agents.PocketEngine"
    options = options_by_group(tmp_path)
    assert "new" in options["agent"]
    assert describe(options["agent/engine"]["gold"]) == describe(options["agent"]["gold"]) == "Mine"
    assert compose(["agent=gold"]).agent.engine._target_ == "dataenvgym.agents.GoldEngine"


@pytest.mark.parametrize("text", ["- a\n", "a: 1\n", "a: [\n"])
def test_a_table_that_is_not_one_is_refused_by_its_name(tmp_path, text):
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "_options.yaml").write_text(text)
    with pytest.raises(ConfigurationError, match="_options"):
        compose(config_dir=tmp_path)


def test_names_are_listed_without_importing_their_classes():
    program = (
        "import sys; from dataenvgym.runs.config.groups import options_by_group\n"
        "assert 'pocket_math' in options_by_group()['task']\n"
        "assert not {'torch', 'vllm', 'transformers', 'dataenvgym.domains'} & {*sys.modules}"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_each_named_class_is_there_and_describes_itself():
    for group, entries in ENTRY_POINTS.items():
        for point in entry_points(group=entries):
            assert point.load().__name__
            assert 10 < len(describe(options_by_group()[group][point.name])) <= 110, point
