"""Reference of the Python interfaces: a page for each public part, filled by mkdocstrings."""

from __future__ import annotations

PARTS = {
    "records": "Problems, conversations, training records and reports: plain data.",
    "interfaces": "The protocols of agents, tasks, predictors and environments.",
    "environments": "The teaching environments, in which a data-generation agent acts.",
    "agents": "Policies, engines, and the agents made of them.",
    "plans": "Plans: the output of a policy and the input of an engine.",
    "tasks": "Problems, the environments in which a student works on them, and their scores.",
    "tasks.worlds": "Worlds: states, tools that read and change them, and checks on both.",
    "domains.math": "Math.",
    "domains.code": "Code.",
    "domains.tool_use": "Tool use: problems in worlds, users.",
    "domains.social": "Social simulation: scenes between characters.",
    "rollouts": "Lets predictors work on task environments, many at once.",
    "predictors": "Students that answer: in this process, on vLLM, behind an API, scripted.",
    "trainers": "Train a student on records: in this process, or with LLaMA-Factory.",
    "llama_factory": "The files of LLaMA-Factory, written and read.",
    "llm": "Teachers: clients of language models with a cache, a budget and structured replies.",
    "judging": "Language models that score conversations.",
    "scoring": "Final answers read out of text, and compared.",
    "sandbox": "Runs code that is not trusted.",
    "skills": "Finds the skills of problems.",
    "quality": "Checks of records beyond the environment's own.",
    "episodes": "Runs an episode, writes and reads its run directory.",
    "studies": "Compares strategies over tasks and seeds.",
    "executors": "Where episodes run: in this process, in several, on a Ray cluster.",
    "metrics": "Samples, metrics and estimates.",
    "evaluation": "Evaluations with a folder of their own.",
    "adaptation": "Self-editing students: inner loops, RestEM, and the arms to compare.",
    "config": "From YAML files and overrides to a configuration, and to the objects it describes.",
    "store": "Keeps documents in memory, files or Redis.",
    "tool_formats": "How conversations with calls of tools are written as text.",
    "spaces": "Gymnasium spaces of records and conversations.",
    "simulation": "A simulated student.",
    "wrappers": "Gymnasium wrappers.",
    "errors": "The exceptions that dataenvgym raises.",
    "seeding": "Random generators derived from a seed and a place.",
}
"""Public parts of the package, and what each is for, in a sentence."""

INTERNAL = (
    "checksums", "cli", "exact_json", "external", "options", "own_modules", "pocket", "progress",
    "registration", "run_warnings", "secrets", "shipped_configs", "storage", "threads", "workspace",
)  # fmt: skip
"""Parts without a page: their names may change with any version."""


def api_pages() -> dict[str, str]:
    """By path under docs/: a page for each part, and the overview of all."""
    pages = {f"reference/api/{part}.md": _page(part) for part in PARTS}
    rows = [f"| [`dataenvgym.{part}`]({part}.md) | {about} |" for part, about in PARTS.items()]
    pages["reference/api/index.md"] = "\n".join([INTRO, "| module | |", "|---|---|", *rows, ""])
    return pages


INTRO = """\
# Python interfaces

These pages are made from the docstrings of the code. Names that are not listed are internal and may
change with any version.
"""


def _page(part: str) -> str:
    return f"---\ntitle: {part}\n---\n\n# `dataenvgym.{part}`\n\n::: dataenvgym.{part}\n"
