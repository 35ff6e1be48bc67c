"""Each command of each page runs, in the order of the page, in short settings."""

import re

import pytest

from dataenvgym.tasks import rows
from tests.docs.pages import PAGES, blocks, commands, files
from tests.docs.reader import Reader
from tests.docs.readers_files import write_adapter, write_files
from tests.docs.shells import split_by
from tests.docs.shortening import composed, words_of

USER = "+teacher@task.others.user=openai task.others.user.model=NAME"
JUDGE = "+teacher@task.others.judge=openai task.others.judge.model=NAME"
AIRLINE = "dataenvgym eval task=tau2 task.domain=airline model=openai/"
RETAIL = "dataenvgym eval task=tau2 task.domain=retail"
NO_DATA = "needs the data of tau2-bench; test_tau2_real.py plays it where it is installed"
NO_ALFWORLD = "needs the games of ALFWorld; tests/domains/textworld/test_games.py plays its rules"
NOT_HERE = {
    "dataenvgym external install llamafactory": "downloads 6 GB, for tests/students/external",
    "dataenvgym external install vllm": "downloads 3.4 GB, for tests/students/external",
    'dataenvgym study suite=teach-v1 --strategy "mine: agent=my_module.MyAgent '
    'environment.max_records=300"': "54 episodes",
    "dataenvgym adapt experiment=seal_knowledge_qwen25_7b": "200 passages, two GPUs",
    "dataenvgym adapt experiment=seal_arc_llama32_1b": "150 adapters, one GPU",
    "dataenvgym run experiment=orchestrator_8b task.sources=FILE task.endpoints=FILE": "eight GPUs",
    "dataenvgym eval task=shop model=openai/NAME +predictor@task.others.user=custom "
    "task.others.user._target_=dataenvgym.domains.orchestrate.tiers.ServerPool "
    '+task.others.user.model=Qwen/Qwen3-32B "+task.others.user.base_urls='
    '[http://10.0.0.1:1406,http://10.0.0.2:1406]" '
    '"+task.others.user.price={prompt: 0.8, completion: 0.8}"': "two servers",
    "dataenvgym eval task=alfworld task.limit=50 --split test model=openai/NAME": NO_ALFWORLD,
    "dataenvgym run experiment=epo_alfworld_llama3_8b": NO_ALFWORLD,
    "dataenvgym prepare gsm8k math humaneval": "needs the hub; tests/cli/test_prepare.py",
    "dataenvgym serve student=hf student.path=Qwen/Qwen3-8B": "needs vLLM; it runs until Ctrl-C",
    "dataenvgym eval task=inspect task.name=inspect_evals/gsm8k +task.arguments.fewshot=5 "
    "model=openai/NAME": "needs inspect_evals; tests/runs/evaluation/test_inspect_task.py",
    'dataenvgym run "task.tasks=[pocket_math,pocket_code]" agent=open_ended agent/engine=llm '
    "teacher=openai teacher.model=NAME": "two tasks of 400 problems; tests/tasks/test_several.py",
    "dataenvgym eval task=api_bank task.turns=calls task.checkout=DAMO-ConvAI/api-bank "
    "model=openai/NAME": "needs API-Bank's repository; test_api_bank_original.py",
    "dataenvgym eval task=bfcl_multi_turn task.category=base task.checkout="
    "gorilla/berkeley-function-call-leaderboard model=openai/NAME": "needs BFCL's repository; "
    "test_bfcl_multi_turn.py",
    "dataenvgym eval task=social task.profiles=redis://127.0.0.1:6379/0 task.casts_per_scene=5 "
    "task.judge_prompt=sotopia model=openai/NAME task.others.partner=openai/OTHER "
    "task.others.judge=openai/JUDGE": "needs Sotopia's database; test_sotopia_judge.py",
    f"{AIRLINE}NAME {USER}": NO_DATA,
    "dataenvgym run task=tau2 task.domain=telecom student=hf student.path=Qwen/Qwen3-0.6B "
    f"predictor.tool_format=hermes agent/engine=rejection_sampling {USER}": NO_DATA,
    f"{RETAIL} model=openai/gpt-5.4-mini {USER} {JUDGE}": NO_DATA,
    f"{RETAIL} task.nl_assertions=leave_out model=openai/gpt-5.4-mini {USER}": NO_DATA,
}
"""Commands that are composed only, and why."""
WITH_PROGRAMS = (
    "dataenvgym eval task=shop student=hf student.path=Qwen/Qwen3-8B predictor=vllm "
    "predictor.tool_format=native predictor.tool_parser=hermes",
    "dataenvgym run trainer=llama_factory predictor=vllm",
)
"""These run with vLLM and LLaMA-Factory themselves, in the external suite."""
NEEDS = {
    "task=gsm8k": "gsm8k",
    "task=few_shot": "arc-agi",
    "task=humaneval": "humaneval",
    "task=bfcl": "bfcl",
    "task=api_bank": "api-bank",
    "task=squad": "squad",
}
"""Folders of DATAENVGYM_DATA that tasks read."""
NOT_A_PAGE = ("CHANGELOG.md",)
OF_THE_PAGE = re.compile(r"\b(RUN|NAME '?metrics|EARLIER)\b|^(cd|python|dataenvgym new) ")


def _by_page() -> dict[str, list[str]]:
    """The commands that each page is the first to have; those about a run of the page, on each."""
    seen: set[str] = set()
    chosen: dict[str, list[str]] = {}
    for page in PAGES:
        lines = [] if page in NOT_A_PAGE else list(dict.fromkeys(commands(page)))
        chosen[page] = [line for line in lines if line not in seen or OF_THE_PAGE.search(line)]
        seen |= set(lines)
    return {page: lines for page, lines in chosen.items() if lines}


BY_PAGE = _by_page()


@pytest.fixture
def reader(folder, here, earlier_run, data, monkeypatch, pictures_are_shared):
    monkeypatch.setenv("DATAENVGYM_DATA", str(data))
    hub = rows._from_hub

    def from_hub(source):
        name = source.files[0] if source.files else f"{source.split}.json"
        file = data / source.dataset.rpartition("/")[2] / name
        return rows._from_file(file, name, str(file)) if file.exists() else hub(source)

    monkeypatch.setattr(rows, "_from_hub", from_hub)
    reader = Reader(folder, here, earlier_run)
    yield reader
    reader.leave()


def test_there_are_commands():
    assert sum(map(len, BY_PAGE.values())) > 150


def test_no_option_has_a_backslash_for_a_line_break():
    lines = [line for lines in BY_PAGE.values() for line in lines]
    words = [word for words in split_by("bash", lines) for word in words]
    assert [word for word in words if "\\n" in word] == []
    assert 'task.sampling.stop=["\n"]' in words


@pytest.mark.parametrize("line", [*NOT_HERE, *WITH_PROGRAMS])
def test_what_runs_elsewhere_is_still_on_a_page(line):
    assert any(line in lines for lines in BY_PAGE.values())
    assert len(NOT_HERE) <= 21


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("page", BY_PAGE)
def test_the_commands_of_a_page_run(page, folder, reader, here, data, capfd):
    write_files(page, folder)
    if "runs/mine/" in PAGES[page]:
        write_adapter(folder / "runs/mine/iterations/003/adapter", here.student)
    if files(page) or page == "docs/quickstart.md":
        for block in blocks(page):
            if block.language == "python" and not block.title:
                exec(compile(block.text, page, "exec"), {"__name__": "block"})
    failed = {}
    absent: set[str] = set()
    for line in BY_PAGE[page]:
        if line in NOT_HERE or line in WITH_PROGRAMS or "smollm2" in line:
            # SmolLM2 takes minutes; tests/students/external/test_smollm2.py runs it
            composed(words_of(line)[1:])
        elif needed := {n for t, n in NEEDS.items() if t in line and not (data / n).exists()}:
            absent |= needed
        elif reader.type(line) != 0:
            failed[line] = capfd.readouterr().err[-2000:]
        capfd.readouterr()
    assert not failed, str(failed)[-600:]
    if absent:
        pytest.skip(f"all others ran; DATAENVGYM_DATA has no {absent}")


@pytest.mark.external
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("line", WITH_PROGRAMS)
def test_a_command_runs_with_the_programs_themselves(line, reader):
    assert reader.type(line, with_programs=True) == 0
