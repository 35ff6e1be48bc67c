"""The domain of social simulation: the student's goal decides how a conversation is scored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dataenvgym.domains.social.actions import (
    Action,
    ActionKind,
    InvalidActionText,
    read_action,
    write_action,
)
from dataenvgym.domains.social.bargaining import Acts
from dataenvgym.domains.social.environment import PlayOptions, SocialEnvironment
from dataenvgym.domains.social.problem import MODEL, SocialProblem
from dataenvgym.domains.social.prompts import Lines, conversation_of
from dataenvgym.domains.social.recording import SceneRecorder
from dataenvgym.domains.social.scene import MOST_TURNS, Rules
from dataenvgym.domains.social.scene_log import stuck
from dataenvgym.domains.social.scripted_partners import rounded
from dataenvgym.domains.social.transcripts import (
    HOW_TO_WRITE,
    is_transcript,
    read_scene,
    shown_scene,
)
from dataenvgym.errors import DataEnvGymError
from dataenvgym.events import warn_run
from dataenvgym.records import (
    ChatDatum,
    CompletedTaskInstance,
    Conversation,
    PerformanceReport,
    SupervisedDatum,
    TaskInstance,
    TrainingDatum,
)
from dataenvgym.records.store import Store
from dataenvgym.tasks.dialogue import DialogueDomain
from dataenvgym.tasks.domain import report_on
from dataenvgym.tasks.record_conversion import record_of

if TYPE_CHECKING:
    from omegaconf import DictConfig


class SocialDomain(DialogueDomain):
    """Scenes played from one seat; teachers read and write them turn by turn (see `transcripts`).

    Args:
        rules: whose turn it is, and when a scene ends.
        options: how a scene is played and scored.

    Attributes:
        recorder: stores the played scenes, once it has a store.
    """

    record_forms = ("social",)

    def __init__(self, rules: Rules | None = None, options: PlayOptions = PlayOptions()) -> None:
        self.prompt_template = options.prompt
        self._rules = rules or Rules()
        self._kinds = self._rules.kinds
        self.judges, self.scored = tuple(options.judges), options.scored
        self.recorder = SceneRecorder()
        self._strategies = options
        self.make_environment()  # raises here if an option is invalid

    def make_environment(self, instances: Sequence[TaskInstance] = ()) -> SocialEnvironment:
        return SocialEnvironment(
            instances, self._strategies, rules=self._rules, recorder=self.recorder
        )

    def record_in(
        self, store: Store, models: Mapping[str, str] | None = None, *, events: bool = True
    ) -> None:
        """Also store scenes that are played from now on in this store.

        Args:
            models: the name of each model (see `SceneRecorder`).
            events: also store each action when it happens.
        """
        self.recorder.models |= models or {}
        self.recorder.documents.append(store)
        self.recorder.events += [store] if events else []

    @staticmethod
    def model_names(config: DictConfig) -> dict[str, str]:
        """The names of the models: the student's, then those of the task's speakers.

        Several judges count as one, "judge"; a scripted partner has the name of its temperament.
        """
        from dataenvgym.runs.config.building import model_name

        task = config.task
        others = task.get("others") or {}
        judges = [name for name in task.get("judges", ["judge"]) if name in others]
        names = {"student": model_name(config.predictor)} if "predictor" in config else {}
        if task.get("partner") is not None:
            names["partner"] = str(task.partner)
        names |= {who: model_name(others[who]) for who in others if who not in judges}
        if judges:
            names["judge"] = " + ".join(model_name(others[judge]) for judge in judges)
        return names

    def prompt(self, instance: TaskInstance) -> Conversation:
        """The conversation that the student sees first, without a model's opening words."""
        if instance.data_as(SocialProblem).partner == MODEL or self._strategies.strategists:
            return self.prompt_template.conversation(self.text_of(instance))
        return super().prompt(instance)

    def text_of(self, instance: TaskInstance) -> str:
        """The introduction that the student reads before the scene begins, with its character."""
        problem = instance.data_as(SocialProblem)
        return self._strategies.students_introduction(problem.cast, problem.seat, self._kinds)

    def characters(self, instance: TaskInstance) -> tuple[str, str]:
        problem = instance.data_as(SocialProblem)
        cast, own = problem.cast, problem.seat
        others = [cast.label(seat, own) for seat in cast.seats if seat != own]
        return cast.label(own, own), " and ".join(others)

    def tried_text(self, completed: CompletedTaskInstance) -> str | None:
        """The conversation after the introduction of `text_of`, which others may have begun."""
        said = [m for m in completed.transcript if m.role in ("assistant", "user")]
        first = next((i for i, m in enumerate(said) if m.role == "assistant"), None)
        if first is None:
            return None
        heard = self.prompt_template.instruction_in(said[0].content) if first else ""
        heard = heard.removeprefix(self.text_of(completed.instance)).strip()
        lines: Lines = [("user", heard)] if heard else []
        for message in said[min(first, 1) :]:
            lines.append(("user" if message.role == "user" else "assistant", message.content))
        return shown_scene(lines)

    def gold_text(self, instance: TaskInstance) -> str | None:
        """The conversation with the gold replies, if it solves the problem without a judge."""
        try:
            completed = self.gold_conversation(instance)
        except DataEnvGymError:
            return None
        return self.tried_text(completed) if completed and completed.was_correct else None

    @property
    def teacher_context(self) -> str:
        """The system message, how the student acts, and how a teacher writes a scene."""
        way = self._strategies.students_way(self._kinds)
        return "\n\n".join(filter(None, (self.prompt_template.system, way, HOW_TO_WRITE)))

    # --- records ---

    def frame(self, record: SupervisedDatum) -> SupervisedDatum | ChatDatum:
        """Turn the scene in a teacher's output into a conversation, in the environment's words.

        An output that is not a scene is one reply, in the task's prompt.
        """
        framed = self.prompt_template.frame(record)
        lines = None if record.system or record.history else read_scene(record.output)
        if lines is None:
            return framed
        opening = self.prompt_template.instruction_in(record.prompt[-1].content)
        held = self._held(opening, lines)
        chat = None if held is None else record_of(held)
        return framed if chat is None else chat.model_copy(update={"provenance": record.provenance})

    def _held(self, opening: str, lines: Lines) -> CompletedTaskInstance | None:
        """The scene as the student would have played it, up to its last message.

        None if a message of the student is not an action.
        """
        try:
            for role, text in lines:
                if role == "assistant" and not self._strategies.student_advises:
                    read_action(text, self._kinds)
        except InvalidActionText:
            return None
        way = self._strategies.students_way(self._kinds, 1 + opening.count("\nWith you is "))
        if "\nYour goal: " in opening and way not in opening:
            opening = f"{opening.rstrip()}\n\n{way}"
        (asked, *others) = conversation_of(opening, lines)
        asked = asked.model_copy(update={"content": self.prompt_template.text(asked.content)})
        return CompletedTaskInstance(
            instance=TaskInstance(id="record", task="records", instruction=opening),
            transcript=(*self.prompt_template.conversation("")[:-1], asked, *others),
            reward=0.0,
            was_correct=False,
        )

    def record_fault(self, record: TrainingDatum) -> str | None:
        """Return "transcript" if a message that the student learns has words of others, too."""
        if isinstance(record, ChatDatum):
            turns = record.conversation
            said = [message.content for message in turns if message.role == "assistant"]
        else:
            answers = [answer for answer in record.answers() if answer.is_right]
            turns = answers[0].prompt if answers else ()
            said = [answer.text for answer in answers]
        prompt = "\n".join(message.content for message in turns if message.role == "user")
        return "transcript" if any(is_transcript(text, prompt) for text in said) else None

    # --- other models ---

    def report(self, task: str, completed: Sequence[CompletedTaskInstance]) -> PerformanceReport:
        """The report; a warning if the student did not converse in a quarter of the scenes."""
        ended = [done for done in completed if done.error is None]
        found = Counter(
            stuck(m.content for m in done.transcript if m.role == "assistant") for done in ended
        )
        if 4 * (found["silent"] + found["repeating"]) >= max(1, len(ended)):
            warn_run(
                f"of {len(ended)} scenes, the student said nothing in {found['silent']}, and the "
                f"same words every time in {found['repeating']}: its scores are not those of "
                "conversations. See its transcripts"
            )
        return report_on(task, completed)

    def asks_model(self, instance: TaskInstance) -> bool:
        """Whether another model takes part: in another seat, as strategist, or as speaker."""
        strategies = self._strategies
        is_played = instance.data_as(SocialProblem).partner == MODEL
        return is_played or strategies.student_advises or bool(strategies.strategists)

    def gold_replies(self, instance: TaskInstance) -> Iterator[str]:
        """The messages of a student that knows both limits of a deal.

        It offers the other's limit in its third turn, and keeps to it. If no price serves both, it
        leaves.
        """
        problem = instance.data_as(SocialProblem)
        deal = problem.scene.deal
        if deal is None or problem.seat not in deal.parties:
            return
        if not deal.is_possible:
            yield write_action(Action(ActionKind.LEAVE, "I am sorry, we are too far apart."))
            return
        sells = problem.seat == deal.seller
        aim = deal.limit(deal.other(problem.seat))
        acts = Acts.of(problem.scene, self._kinds)
        for turn in range(MOST_TURNS + 1):
            away = (0.5, 0.25)[turn] if turn < 2 else 0.0
            price = rounded(aim * (1 + away if sells else 1 - away), up=sells) if away else aim
            yield write_action(acts.offer(price))
