"""The domain of few-shot problems: a reply is judged by the last grid in it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import partial

from dataenvgym.domains.few_shot.augmentations import SYMMETRIES
from dataenvgym.domains.few_shot.environment import ATTEMPTS, FewShotEnvironment, output_of
from dataenvgym.domains.few_shot.problem import (
    Grid,
    key_of,
    read_grid,
    read_problem,
    skill_of,
    text_of,
)
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
)
from dataenvgym.records.tool_formats import said_in
from dataenvgym.tasks.domain import Domain, has_answer, question_of, report_on
from dataenvgym.tasks.prompt_template import PLAIN, PromptTemplate

VIEW = "@"
"""Between the id of a problem and the name of its view."""


class FewShotDomain(Domain):
    """Problems with grids as demonstrations, and a grid as the answer.

    Problems with the same demonstrations are the same problem, whatever their last input. With
    views of problems (see `FewShotTask`), the report has `voted`: the share of problems for
    which one of the two most frequent first attempts over all views, turned back, is right.

    Args:
        prompt_template: the prompt around each problem.
        max_turns: the number of attempts.
    """

    asks_others = False
    word_runs_identify = ()
    answer_form = "The last lines of your reply are the output: rows of digits, nothing else."

    def __init__(
        self, prompt_template: PromptTemplate = PLAIN, *, max_turns: int = ATTEMPTS
    ) -> None:
        self.prompt_template = prompt_template
        self.max_turns = max_turns
        self.make_environment()  # raises here if an option is invalid

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> FewShotEnvironment:
        options = self.prompt_template.options
        return FewShotEnvironment(instances, max_turns=self.max_turns, **options)

    def answer_class(self, instance: TaskInstance, reply: str) -> str | None:
        """The last grid of the reply; None if it has none."""
        grid = read_grid(said_in(reply))
        return None if isinstance(grid, str) else text_of(grid)

    def overlap_key(self, text: str) -> str:
        key = key_of(text)
        return super().overlap_key(text) if key is None else key

    def problem_of_record(self, record: SupervisedDatum | ChatDatum) -> TaskInstance | None:
        """The record as a problem with its output as the gold answer, if both are grids."""
        plain = question_of(record, self.prompt_template)
        problem = read_problem(plain.instruction) if plain else None
        answer = self.answer_class(plain, plain.answer or "") if plain else None
        if plain is None or problem is None or answer is None:
            return None
        skill, category = skill_of(problem.demonstrations)
        return plain.model_copy(
            update={
                "answer": answer,
                "skill": skill,
                "category": category,
                "data": problem.model_dump(mode="json"),
            }
        )

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        return report_on(task, completed, voted, partial(has_answer, self))


def voted(completed: Sequence[CompletedTaskInstance]) -> Mapping[str, float]:
    """The share of problems that are right by the vote of their views."""
    groups: defaultdict[str, dict[str, CompletedTaskInstance]] = defaultdict(dict)
    for each in completed:
        groups[problem_id(each.instance)][str(each.instance.data.get("view", ""))] = each
    if all({*views} == {""} for views in groups.values()):
        return {}
    return {"voted": sum(map(_is_right_by_vote, groups.values())) / len(groups)}


def problem_id(instance: TaskInstance) -> str:
    """The id of the problem that an instance is, or is a view of."""
    view = instance.data.get("view")
    return instance.id.removesuffix(f"{VIEW}{view}") if view else instance.id


def _is_right_by_vote(views: Mapping[str, CompletedTaskInstance]) -> bool:
    """Whether one of the two most frequent first attempts at the views of a problem is right.

    Ties go to the problem itself, and then to the earlier view. Second attempts do not count: they
    are made only after a wrong one.
    """
    votes: Counter[Grid] = Counter()
    gold: Grid = ()
    for name in filter(views.__contains__, ("", *SYMMETRIES)):
        turned_back = SYMMETRIES[name].undone if name else lambda grid: grid
        tried = views[name]
        first = next(m for m in tried.transcript if m.role == "assistant")
        gold = turned_back(output_of(tried.instance))
        if not isinstance(given := read_grid(said_in(first.content)), str):
            votes[turned_back(given)] += 1
    return any(grid == gold for grid, _ in votes.most_common(ATTEMPTS))
