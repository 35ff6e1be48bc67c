"""The boundary of the command line: each wrong input exits with 2, names it, and changes nothing.

Wrong overrides of any command are in `tests/runs/config/test_overrides.py`.
"""

import shlex

import pytest

ADAPT = "adapt task=pocket_knowledge"
STUDY = "study agent=random"
STUDENT = "predictor=my_students.MyStudent"
EVAL = f"eval {STUDENT} task.sampling.temperature=1.0"
SERVE = f"serve-adaptation {STUDENT}"
WRONG = [
    # (what is typed, words of the error)
    ("rnu", "'rnu' 'run'"),
    ("--verison", "'--verison' '--version'"),
    ("run --frehs", "'--frehs' '--fresh'"),
    ("run -q", "'-q'"),
    ("run --dry=1", "--dry"),
    ("run --iterations=3 seed=1", "--iterations=3 KEY=VALUE"),
    ("run --seed 1", "--seed KEY=VALUE"),
    ("rescore", "EVALUATION"),
    ("report", "runs"),
    ("report a b", "'b'"),
    ("report run --seed 1", "'--seed'"),
    ("eval --samples 10", "--samples KEY=VALUE"),
    ("eval --model openai/x", "--model KEY=VALUE"),
    (f"{EVAL} samples=4 task.sampling.temperature=0.0", "task.sampling.temperature=1.0"),
    (f"{EVAL} samples=4 metrics=[pass@5]", "k = 5"),
    (f"{EVAL} samples=4 metrics=[pass@k]", "pass@5"),
    (f"{EVAL} samples=0", "samples 0"),
    (f"{EVAL} chunk=0", "chunk 0"),
    (f"{EVAL} chunk=2.5", "chunk 2.5"),
    (f"{EVAL} samples=2 seed=1", "task.sampling.seed=1"),
    (f"{EVAL} smaples=2", "'samples'"),
    (f"{EVAL} --split tset", "'test'"),
    (f"{EVAL} --split all", "PocketMathTask"),
    (f"{EVAL} --limit 0", "--limit 0"),
    (f"{EVAL} --limit {10**20}", f"--limit {10**20}"),
    (f"{EVAL} --limit many", "--limit 'many'"),
    (f"{EVAL} --iteration 1", "--run"),
    (f"{EVAL} --run nothing", "'nothing'"),
    (f"{EVAL} --run a --adapter b", "allowed"),
    (f"{EVAL} --fresh --retry-errors", "allowed"),
    (f"{EVAL} --dry samples=0", "samples 0"),
    ("eval model=openai/gpt --adapter a", "OpenAIPredictor learns"),
    ("eval suite=teach-v1", "agent"),
    ("eval suite=math task=pocket_math", "suite=math task=pocket_math"),
    ("summary nowhere", "nowhere"),
    ("attribute q", "'q'"),
    ("attribute r --by skill --groups no.json", "allowed"),
    ("show --wrong", "runs"),
    ("compare a", "'a'"),
    ("compare a --cluster skill", "--cluster"),
    (f"{SERVE} --transport tcp", "'tcp'"),
    (f"{SERVE} --port x", "--port 'x'"),
    (f"{SERVE} --token-variable NO_SUCH", "NO_SUCH"),
    (f"{SERVE} task=no_such", "no_such"),
    ("config experiment=seal_arc_llama32_1b", "--of adapt"),
    ("list agnet", "'agent'"),
    ("external instal vllm", "'instal' 'install'"),
    ("external install", "llamafactory, vllm"),
    ("external install vlm", "'vlm' vllm"),
    ("external install smolm2", "'smollm2'"),
    ("external install vllm --variant cda", "'cda' 'cuda'"),
    ("external install smollm2 --variant cpu", "smollm2"),
    ("study --seeds 0,1", "--seeds KEY=VALUE"),
    (f"{STUDY} sed=1", "'seed'"),
    ("study agent=rnadom,random", "agent=rnadom 'random'"),
    (f"{STUDY} --baselin x", "'--baselin' '--baseline'"),
    (f"{STUDY} --baseline rndom", "'random'"),
    (f"{STUDY} --test z", "'z'"),
    (f"{STUDY} --workers 0 executor=processes", "workers 0"),
    (f"{STUDY} --race", "--race"),
    (f"{STUDY} --name a/b", "--name 'a/b'"),
    ("adapt task=pocket_math", "'pocket_math'"),
    (f"{ADAPT} agent/engine=gold", "agent.engine"),
    (f"{ADAPT} agent.engine.samples=2", "arms.edits"),
    (f"{ADAPT} rest_em.rounds=0", "rest_em.rounds 0"),
    (f"{ADAPT} arms.names=[best]", "arms.names 'best'"),
    (f"{ADAPT} arms.names=[teacher_edits]", "teacher"),
    (f"{ADAPT} arms.contexts=9", "arms.contexts 9"),
    (f"{ADAPT} --dry arms.contexts=99", "arms.contexts 99"),
    (f"{ADAPT} seeds=0", "seeds 0"),
    (f"{ADAPT} student=simulated", "student RestEM"),
    (f"{ADAPT} --rounds 3", "--rounds KEY=VALUE"),
    (f"{ADAPT} --continual arms.repeats=2", "arms.repeats"),
    (f"{ADAPT} --continual arms.contexts=9", "contexts 9"),
    (f"{ADAPT} --continual --retry-errors", "retry_errors"),
    ("new agnet x", "'agnet' 'agent'"),
    ("new agent WeakSkills", "'WeakSkills'"),
    ("new agent a-b", "'a-b'"),
    ("new agent ../a", "'../a'"),
    ("new agent class", "'class'"),
    ("new agent random", "agent=random"),
    ("new task json", "'json'"),
    ("new agent", "NAME"),
    ("worlds adit", "'adit'"),
    ("worlds audit shp", "'shop'"),
    ("worlds audit --tasks problems.jsonl", "--tasks"),
]


@pytest.mark.parametrize(("typed", "words"), WRONG, ids=[typed for typed, _ in WRONG])
def test_a_wrong_input_exits_with_2_names_it_and_changes_nothing(dataenvgym, folder, typed, words):
    before = sorted(folder.iterdir())
    code, out, err = dataenvgym(*shlex.split(typed))
    assert (code, out) == (2, "")
    assert all(word in err for word in words.split()), err
    assert "Traceback" not in err
    assert [path for path in sorted(folder.iterdir()) if path.name != "__pycache__"] == before
