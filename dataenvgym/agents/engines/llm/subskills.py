"""The subskills of a skill, named by a teacher."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.agents.engines.llm.orders import PLAIN_TEXTS, ProblemTexts, shown_example
from dataenvgym.interfaces import SamplingParameters, TeacherInterface
from dataenvgym.llm.prompts import Prompt, as_prompt
from dataenvgym.llm.structured import Schema, ask_json
from dataenvgym.records import CompletedTaskInstance

SCHEMA: Schema = {
    "type": "object",
    "properties": {"subskills": {"type": "array", "items": {"type": "string"}}},
    "required": ["subskills"],
    "additionalProperties": False,
}
_MOST_EXAMPLES = 5


def ask_for_subskills(
    teacher: TeacherInterface,
    skill: str,
    known: Sequence[str],
    count: int,
    examples: Sequence[CompletedTaskInstance],
    sampling: SamplingParameters,
    *,
    prompt: Prompt | str = "propose_subskills",
    attempts: int = 3,
    texts: ProblemTexts = PLAIN_TEXTS,
) -> tuple[str, ...]:
    """Ask for up to `count` subskills of `skill`, all different and not among `known`.

    Names that differ only in case and spacing are the same. Missing names are asked for again.

    Args:
        prompt: has `{count}` and `{skill}`, and may have `{known}` and `{examples}`.
        attempts: the most requests to the teacher.
        texts: renders problems and tries for the teacher.

    Raises:
        BudgetSpentError: if the budget is spent before the first name.
    """
    prompt = as_prompt(prompt, needs=("count", "skill"), may=("known", "examples"))
    wrong = [c for c in examples if not c.was_correct][:_MOST_EXAMPLES]
    shown = "\n\n".join(shown_example(c, i + 1, texts) for i, c in enumerate(wrong))
    names: dict[str, str] = {}
    taken = {_key(name) for name in known}
    for attempt in range(attempts):
        asked = prompt.render(
            count=count - len(names),
            skill=skill,
            known=", ".join([*known, *names.values()]),
            examples=shown,
        )
        again = sampling.model_copy(update={"seed": sampling.seed + attempt})
        (answer,) = ask_json(teacher, [asked], SCHEMA, again, purpose="subskills")
        for name in answer["subskills"] if answer else ():
            if _key(name) and _key(name) not in taken and len(names) < count:
                names.setdefault(_key(name), " ".join(name.split()))
        if len(names) == count:
            break
    return tuple(names.values())


def _key(name: str) -> str:
    """The key of a name; empty for one with control characters or lone surrogates."""
    plain = " ".join(name.casefold().split())
    return plain if plain.isprintable() else ""
