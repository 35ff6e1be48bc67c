"""Instructions with rules that a program checks, as in IFEval (Zhou et al., 2023)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from dataenvgym.errors import ConfigurationError, need
from dataenvgym.records import TaskInstance
from dataenvgym.tasks.environment import Outcome


def followed(instance: TaskInstance, reply: str) -> Outcome:
    """The share of the instructions that a reply follows; all must be followed to be right.

    The score `loose` also accepts a reply without its first or last line, or without asterisks, as
    in IFEval's paper.
    """
    data: Any = instance.data
    registry, evaluate = instruction_checks()
    results, scores = evaluate(
        reply, data["instructions"], data["kwargs"], instance.instruction, registry
    )
    failed = [result.instruction_id for result in results if not result.strict_pass]
    return Outcome(
        reward=scores.partial_strict,
        was_correct=scores.binary_strict == 1.0,
        scores={"loose": scores.binary_loose},
        info={"note": f"not followed: {', '.join(failed)}"} if failed else {},
    )


@cache
def instruction_checks() -> tuple[Mapping[str, Any], Callable[..., Any]]:
    """The known instructions, and the function that checks a reply; if-verifiable has both."""
    try:
        from if_verifiable.common import evaluate_instructions
        from if_verifiable.ifeval import INSTRUCTION_DICT
        from langdetect import DetectorFactory
    except ImportError as error:
        lacks = ConfigurationError(
            f"graded_by is 'instructions', which needs the package if-verifiable ({error}): "
            "pip install 'dataenvgym[ifeval]'"
        )
        need(lacks)
        raise lacks from error
    DetectorFactory.seed = 0  # its guesses of a language are random otherwise
    return INSTRUCTION_DICT, evaluate_instructions
