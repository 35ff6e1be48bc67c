"""Preference pairs from the student's own tries: a right one and a wrong one."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.agents.engines.self_teaching import SelfTeachingEngine
from dataenvgym.records import CompletedTaskInstance, PreferenceDatum
from dataenvgym.tasks.lessons import preference_of


class ContrastEngine(SelfTeachingEngine):
    """Writes a preference record for each problem that the student solves only sometimes.

    The prompt is the common beginning of a solved and a failed try; chosen and rejected are the
    messages where they first differ (see `preference_of`). In a conversation with tools the
    rejected message may come before the error itself. So the engine takes the pair of tries that
    differ last, whose messages are closest to the error.

    It needs the gold answers of the training split to tell right from wrong. The records train by
    DPO; `trainer.pref_ftx=1` also trains the student on the chosen messages.
    """

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[PreferenceDatum]:
        """One pair; none if no try is right or none is wrong. Failed calls are neither."""
        right = [c for c in tries if c.was_correct]
        wrong = [c for c in tries if not c.was_correct and c.error is None]
        if not right or not wrong:
            return ()
        prompt = self.task.domain.prompt(tries[0].instance)
        pairs = (preference_of(one, other, prompt) for one in right for other in wrong)
        found = [pair for pair in pairs if pair is not None]
        return sorted(found, key=lambda pair: -len(pair.prompt))[:1]
