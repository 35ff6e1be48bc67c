"""Reference of the Python interfaces: a page for each public part, filled by mkdocstrings."""

from __future__ import annotations

PARTS = {
    "records": "Problems, conversations, training records and reports: plain data.",
    "interfaces": "The protocols of agents, tasks, predictors and environments.",
    "environments": "The teaching environments, in which a data-generation agent acts.",
    "agents": "Policies, engines, and the agents made of them.",
    "records.plans": "Plans: the output of a policy and the input of an engine.",
    "tasks": "Problems, the environments in which a student works on them, and their scores.",
    "tasks.worlds": "Worlds: states, tools that read and change them, and checks on both.",
    "domains.math": "Math.",
    "domains.code": "Code.",
    "domains.tool_use": "Tool use: problems in worlds, users.",
    "domains.social": "Social simulation: scenes between characters.",
    "tasks.rollouts": "Lets predictors work on task environments, many at once.",
    "students.predictors": "Answer: in this process, on vLLM, behind an API, scripted.",
    "students.trainers": "Train a student on records: in this process, or with LLaMA-Factory.",
    "students.llama_factory": "The files of LLaMA-Factory.",
    "teachers": "Clients of language models with a cache, a budget and structured replies.",
    "tasks.judging": "Language models that score conversations.",
    "tasks.scoring": "Final answers read out of text, and compared.",
    "sandbox": "Runs code that is not trusted.",
    "agents.skills": "Finds the skills of problems.",
    "agents.quality": "Checks of records beyond the environment's own.",
    "runs.episodes": "Runs an episode, writes and reads its run directory.",
    "studies": "Compares strategies over tasks and seeds.",
    "studies.executors": "Where episodes run: in this process, in several, on a Ray cluster.",
    "tasks.metrics": "Samples, metrics and estimates.",
    "runs.evaluation": "Evaluations with a folder of their own.",
    "adaptation": "Self-editing students: inner loops, RestEM, and the arms to compare.",
    "runs.config": "From YAML files and overrides to the objects that they describe.",
    "records.store": "Keeps documents in files or Redis.",
    "records.tool_formats": "How conversations with calls of tools are written as text.",
    "records.spaces": "Gymnasium spaces of records and conversations.",
    "environments.simulation": "A simulated student.",
    "environments.wrappers": "Gymnasium wrappers.",
    "errors": "The exceptions that dataenvgym raises.",
    "seeding": "Random generators derived from a seed and a place.",
}
"""Public parts of the package, and what each is for, in a sentence."""

INTERNAL = ("cli", "events", "exact_json", "options", "registration", "storage", "workspace")
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
