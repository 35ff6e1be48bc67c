"""Tests of the package as a whole."""

from tests.processes import python

HEAVY = (
    *("torch", "transformers", "datasets", "sympy", "peft", "matplotlib", "hydra", "math_verify"),
    "mcp",
)


def test_importing_the_package_imports_nothing_heavy():
    code = (
        "import sys, dataenvgym, dataenvgym.records, dataenvgym.interfaces, "
        "dataenvgym.records.spaces, dataenvgym.tasks.scoring, dataenvgym.environments, "
        "dataenvgym.agents, dataenvgym.runs.episodes\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    assert python("-c", code, check=True).stdout.strip() == "[]"


def test_grading_plain_answers_imports_no_sympy():
    code = (
        "import sys\nfrom dataenvgym.tasks.scoring import answers_equal\n"
        "assert answers_equal('1,000', '1000') and not answers_equal('3', '4')\n"
        "print('sympy' in sys.modules)"
    )
    assert python("-c", code, check=True).stdout.strip() == "False"
