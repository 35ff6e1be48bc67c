"""The boundary of overrides: each wrong one is refused by its key, and changes nothing.

All commands compose and build in the same way, so one table is tried in this process.
"""

from __future__ import annotations

import inspect
import sys
from importlib.metadata import entry_points
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from annotated_types import Ge, Gt, Le, Lt

from dataenvgym.cli.main import main
from dataenvgym.errors import ConfigurationError
from dataenvgym.options import parameters_of
from dataenvgym.runs.config.groups import ENTRY_POINTS
from dataenvgym.runs.config.instantiation import check_arguments

# --- the bounds of all options ---


def beyond(hint: Any) -> list[Any]:
    """Values that the bounds in a type exclude."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Literal:
        return ["no-such"]
    if origin in (Union, UnionType):
        return [value for part in parts for value in beyond(part)]
    if origin is not Annotated:
        return []
    bounds = {
        Ge: lambda b: b.ge - 1,
        Gt: lambda b: b.gt,
        Le: lambda b: b.le + 1,
        Lt: lambda b: b.lt,
    }
    found = [bounds[type(bound)](bound) for bound in parts[1:] if type(bound) in bounds]
    return [*found, *beyond(parts[0])]


def named_classes() -> list[Any]:
    points = (entry_points(group=group) for group in ENTRY_POINTS.values())
    targets = {point.load() for found in points for point in found}
    return sorted(targets, key=lambda each: (each.__module__, each.__qualname__))


def bounded_options() -> list[tuple[Any, str, Any]]:
    return [
        (target, name, value)
        for target in named_classes()
        for name, (_, hint) in parameters_of(target)[0].items()
        for value in beyond(hint)
    ]


def test_a_value_beyond_the_bounds_of_an_option_is_refused_by_its_key():
    tried = bounded_options()
    assert len(tried) > 70
    for target, name, value in tried:
        with pytest.raises(ConfigurationError, match=rf"here\.{name} is .*: Input should be"):
            check_arguments(target, {name: value}, "here")


def test_an_option_that_a_class_declares_again_keeps_its_bounds():
    lost = {
        (kind.__qualname__, name)
        for target in named_classes()
        for kind in inspect.getmro(getattr(getattr(target, "__init__", None), "group", target))
        for base in inspect.getmro(kind)[1:-1]
        for name in {*parameters_of(kind)[0]} & {*parameters_of(base)[0]}
        if beyond(parameters_of(base)[0][name][1]) and not beyond(parameters_of(kind)[0][name][1])
    }
    assert not lost


# --- what a user types ---

OWN = {
    "agent/list.yaml": "- 1\n",
    "agent/open.yaml": "a: [1\n",
    "agent/twice.yaml": "a: 1\na: 2\n",
    "agent/gone.yaml": "defaults:\n  - policy: edg\n  - _self_\n",
    "agent/dangling.yaml": "x: ${nope_}\n",
}
CLASSES = """
class Nothing: ...
class MyAgent:
    def __init__(self, size=1): ...
    def __call__(self, completed, predictor): ...
    def step(self): ...
NUMBER = 3
"""
WRONG = [
    # (what is typed, words of the error)
    ("seed", "seed KEY=VALUE"),
    ("agnet=random", "agnet 'agent'"),
    ("agent=randm", "agent=randm 'random'"),
    ("agent=gold,random", "agent=gold,random"),
    ("task=", "task="),
    ("task=_math", "task=_math"),
    ("store=reddis", "store=reddis 'redis'"),
    ("suite=teach-v1", "suite=teach-v1"),
    ("suite=teach_v1", "'teach-v1'"),
    ("hydra.run.dir=x", "hydra.run.dir"),
    ("~hydra.job.name", "hydra.job.name"),
    ("~foo", "foo"),
    ("~seed", "seed"),
    ("~agent", "agent"),
    ("~agent/engine", "agent/engine"),
    ("~episode.iterations", "episode.iterations"),
    ("agent/enigne=pocket", "'agent/engine'"),
    ("foo/bar=x", "foo/bar"),
    ("episode.iteration=3", "'episode.iterations'"),
    ("lora_rank=3", "'trainer.lora_rank'"),
    ("policy=random", "'agent/policy'"),
    ("agent.copies=3", "agent.copies +agent.copies=3"),
    ("+agent.copies=3", "agent.copies"),
    ("+environment.speed=3", "environment.speed"),
    ("+agent=gold", "agent=gold"),
    ("agent@x=gold", "agent@x=gold"),
    ("seed@x=3", "seed@x=3"),
    ("seed=abc", "seed 'abc'"),
    ("seed=", "seed"),
    ("seed=-1", "seed -1"),
    ("seed=1.5", "seed 1.5"),
    ("seed=true", "seed True"),
    ("seed=null", "seed null"),
    ("seed=[1,2]", "seed [1, 2]"),
    (f"seed={10**22}", "seed"),
    ("+seed.x=1", "seed"),
    ("seed=0,1", "seed=0,1 study"),
    ("seed=[1", "seed=[1"),
    ("seed=int(3", "seed=int(3"),
    ("seed==1", "seed==1"),
    ("name={a: 1", "name={a: 1"),
    ("name='a", "name='a"),
    ("name=a=b", "name=a=b"),
    ("name=[1]", "name"),
    ("name=a/b", "name 'a/b'"),
    ("runs_dir=3", "runs_dir 3"),
    ("runs_dir=${seed", "runs_dir=${seed"),
    ("runs_dir=${oc.env:NOPE_}", "runs_dir NOPE_"),
    ("seed=${sead}", "seed=${sead} 'seed'"),
    ("seed=${nope:1}", "seed=${nope:1}"),
    ("seed=${seed}", "seed=${seed}"),
    ("student=hf", "student.path"),
    ("student.path=3", "student.path 3"),
    ("task=gsm8k", "DATAENVGYM_DATA"),
    ("trainer.learning_rate=fast", "trainer.learning_rate 'fast'"),
    ("trainer.packing=1", "trainer.packing 1"),
    ("trainer.save_strategy=epoch", "trainer.save_strategy 'epoch'"),
    ("trainer.report_to=wandb", "trainer.report_to 'wandb'"),
    ("task.sampling=greedy", "task.sampling 'greedy'"),
    ("task.sampling.max_tokens=0", "task.sampling.max_tokens 0"),
    ("task.sampling.temperature=-1", "task.sampling.temperature -1"),
    ("++task.sampling=3", "task.sampling 3"),
    ("++task.threads=many", "task.threads 'many'"),
    ("task=pocket_code task.limits.disk=-1", "task.limits.disk -1"),
    ("agent=gold task=math_jsonl task.sources=x task.fractions={train:inf}", "task.fractions"),
    ("agent=gold task=social task.fractions={train:0,validation:0,test:0}", "fractions"),
    ("task=pocket_social task.judges=[]", "task.judges"),
    ("task=calendar task.mcp={command:a}", "command 'a'"),
    ("task.split=tset", "task.split"),
    ("+task.split=test", "task.split"),
    ("+task.n_problems=3", "task.n_problems"),
    ("task.n_validation=-3", "n_validation"),
    ("task.student=pocket-v3", "task.student 'pocket-v2'"),
    ("task=few_shot task.sources=x student.format=completion", "task.max_turns"),
    ("task=pocket_code ++task.max_turns=3 student.format=completion", "task.max_turns"),
    ("task.others.user=openai/NAME task.others.user.api_key_variable=null", "task.others"),
    ("+task.others=gpt", "task.others"),
    ("+task.others={user: gpt}", "task.others"),
    ("+task.others={user: {_target_: dataenvgym.teachers.Teacher}}", "task.others.user"),
    ("+task.others={user: {_target_: collections.Counter}}", "user"),
    ("task.sources=x", "task.sources"),
    *(
        (f"task=math_jsonl task.sources=a task.sources{value}", "task.sources")
        for value in ("=[a", "=a,b.jsonl", "=[a,b]", "=test:/x/a,b", ".test=a,b", ".tset=a")
    ),
    ("task=social task.others.judge=gpt", "judge 'gpt'"),
    ("task=social task.others.judge=[openai/A,gpt]", "judge_2 'gpt'"),
    ("task=social task.others.partner=opnai/X", "'openai'"),
    ("task=social task.others.partner=", "partner"),
    ("task=social task.others.strategist=openai/", "strategist 'openai/'"),
    ("task=social judge=openai/J", "judge=openai/J"),
    ("task=social task.others=openai/J", "task.others"),
    ("task=social task.others.a.b=openai/J", "task.others.a.b"),
    ("task=social task.others.judge=[]", "judge '[]'"),
    ("task=social task.others.judge=[openai/A", "judge '[openai/A'"),
    ("task=social partner=fair", "'task.partner'"),
    ("task=social trial=2", "'task.trial'"),
    ("teacher.model=x", "teacher.model"),
    ("quality.checks=[3]", "quality.checks"),
    ("agent.policy=3", "agent.policy"),
    ("agent.engine=gold", "agent.engine"),
    ("agent.records_per_iteration=0", "records_per_iteration"),
    ("agent.policy.floor=nan", "agent.policy.floor"),
    ("environment.mode=incrementl", "environment.mode"),
    ("environment.target_score=high", "environment.target_score"),
    ("environment.id=dataenvgym/OpenEnde-v0", "OpenEnde"),
    ("environment.id='a b'", "environment.id"),
    ("episode.iterations=0", "episode.iterations 0"),
    ("store=files", "store"),
    ("task=social store=files store.where=", "folder"),
    ("task=social store=redis store.where=http://x", "http://x"),
    ("experiment=seal_few_shot_pocket", "dataenvgym adapt"),
    ("model=vlm/pocket", "'vllm'"),
    *((f"model={name}", "model BASE") for name in ("", "pocket", "hf/", "hf/pocket:", "openai/")),
    ("model=vllm/:adapter", "BASE"),
    ("agent=mine.MyAgent agent/policy=random", "agent/policy=random"),
    ("agent=mine.MyAgnet", "MyAgnet"),
    ("agent=nowhere.MyAgent", "nowhere"),
    ("agent=mine.Nothing", "agent Nothing"),
    ("agent=mine.NUMBER", "mine.NUMBER"),
    ("agent=mine.MyAgent +agent.sise=3", "agent.sise 'size'"),
    ("student=mine.Student", "student=mine.Student"),
    ("task=mine.Nothing", "task Nothing"),
    ("agent=list", "agent/list.yaml"),
    ("agent=open", "agent/open.yaml"),
    ("agent=twice", "agent/twice.yaml"),
    ("agent=gone", "agent/gone"),
    ("agent=dangling", "agent.x nope_"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with wrong files of the user's own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("DATAENVGYM_DATA", raising=False)
    (tmp_path / "mine.py").write_text(CLASSES)
    monkeypatch.delitem(sys.modules, "mine", raising=False)
    for name, text in OWN.items():
        (tmp_path / "own" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "own" / name).write_text(inspect.cleandoc(text) + "\n")
    return tmp_path


@pytest.mark.parametrize(("typed", "words"), WRONG, ids=[typed for typed, _ in WRONG])
def test_a_wrong_override_is_refused_by_its_key_and_changes_nothing(folder, capsys, typed, words):
    before = sorted(folder.iterdir())
    parts = [typed] if typed.startswith("+task.others=") or typed.count("'") else typed.split()
    if typed.startswith(("name={", "environment.id")):
        parts = [typed]
    code = main(["run", "--config-dir", "own", *parts])
    said = capsys.readouterr().err
    assert code == 2, said
    assert all(word in said for word in words.split()), said
    assert "Traceback" not in said
    assert len(said.strip().splitlines()) <= 4
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before
