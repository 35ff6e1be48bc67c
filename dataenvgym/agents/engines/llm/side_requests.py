"""The LLM engine's requests for hypotheses, for outputs of records, and for names of subskills."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from dataenvgym.agents.engines.llm.record_requests import DomainOf, RecordRequest, is_error
from dataenvgym.agents.engines.llm.records import items_in
from dataenvgym.interfaces import Failure, Reply, SamplingParameters, TeacherInterface
from dataenvgym.teachers.prompts import Prompt
from dataenvgym.teachers.structured import TEXT, Schema, ask_json, list_of, object_of

_HYPOTHESES = object_of(hypotheses=list_of(object_of(weakness=TEXT, reason=TEXT)))
_SUBSKILLS = object_of(subskills=list_of(TEXT))
_ATTEMPTS_AT_SUBSKILLS = 3


def add_hypotheses(
    requests: Sequence[RecordRequest],
    teacher: TeacherInterface,
    prompt: Prompt,
    sampling: SamplingParameters,
    domain_of: DomainOf,
) -> None:
    """Ask what the student lacks, and put the answers into the requests' provenance.

    A request whose answer cannot be used has no hypotheses.
    """
    supposed = [r for r in requests if any(map(is_error, r.examples))]
    if not supposed:
        return
    asked = [request.conversation(prompt, domain_of) for request in supposed]
    answers = ask_json(teacher, asked, _HYPOTHESES, sampling, purpose="hypotheses")
    for request, answer in zip(supposed, answers, strict=True):
        pairs = answer["hypotheses"] if answer else ()
        texts = (" ".join(f"{p['weakness']}: {p['reason']}".split()) for p in pairs)
        found = {"hypotheses": tuple(texts)[: request.count]}
        request.provenance = request.provenance.model_copy(update=found)


def with_outputs(
    replies: Sequence[Reply | Failure],
    teacher: TeacherInterface,
    prompt: Prompt,
    sampling: SamplingParameters,
    *,
    schema: Schema,
    answer_forms: Sequence[str],
) -> list[Reply | Failure]:
    """The replies with an output for each record in them, asked for in one more call.

    A record whose output was not answered stays without one, and is dropped as malformed.

    Args:
        prompt: has `{instruction}`, and perhaps `{answer_form}`.
        schema: of the replies.
        answer_forms: for each reply, how an output is to end.
    """
    items: list[list[dict[str, Any]]] = [
        items_in(reply, schema, _problem)[0] if isinstance(reply, Reply) else []
        for reply in replies
    ]
    asked = [
        prompt.render(instruction=item["instruction"], answer_form=form)
        for of_reply, form in zip(items, answer_forms, strict=True)
        for item in of_reply
    ]
    answers = teacher.ask(asked, sampling, purpose="solutions") if asked else ()
    for item, answer in zip((i for of_reply in items for i in of_reply), answers, strict=True):
        if isinstance(answer, Reply):
            item["output"] = answer.text
    return [
        reply.model_copy(update={"text": json.dumps({"records": of_reply})})
        if isinstance(reply, Reply) and of_reply
        else reply
        for reply, of_reply in zip(replies, items, strict=True)
    ]


def propose_subskills(
    teacher: TeacherInterface,
    prompt: Prompt,
    sampling: SamplingParameters,
    *,
    skill: str,
    known: Sequence[str],
    count: int,
    examples: str,
) -> Sequence[str]:
    """Up to `count` new names of subskills; see `LLMEngine.propose_subskills`.

    Args:
        sampling: its seed grows by one with each attempt.
        examples: rendered, for the prompt.
    """
    names: dict[str, str] = {}
    taken = {_name_key(name) for name in known}
    for attempt in range(_ATTEMPTS_AT_SUBSKILLS):
        asked = prompt.render(
            count=count - len(names),
            skill=skill,
            known=", ".join([*known, *names.values()]),
            examples=examples,
        )
        seeded = sampling.model_copy(update={"seed": (sampling.seed or 0) + attempt})
        (answer,) = ask_json(teacher, [asked], _SUBSKILLS, seeded, purpose="subskills")
        for name in answer["subskills"] if answer else ():
            key = _name_key(name)
            if key and key not in taken and len(names) < count:
                names.setdefault(key, " ".join(name.split()))
        if len(names) == count:
            break
    return tuple(names.values())


def text_key(text: str) -> str:
    """The key of an instruction: its words, without spacing and case."""
    return " ".join(text.casefold().split())


def _name_key(name: str) -> str:
    """The key of a subskill's name; empty for one with control characters or lone surrogates."""
    key = text_key(name)
    return key if key.isprintable() else ""


def _problem(item: Any) -> dict[str, Any] | None:
    """A record without its output, if it has an instruction."""
    has = isinstance(item, dict) and isinstance(item.get("instruction"), str)
    return dict(item) if has and item["instruction"].strip() else None
