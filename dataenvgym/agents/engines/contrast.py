"""Preference pairs from the student's own tries: one that is right, and one that is not."""

from __future__ import annotations

from collections.abc import Sequence

from dataenvgym.agents.engines.self_teaching import SelfTeachingEngine
from dataenvgym.records import CompletedTaskInstance, PreferenceDatum
from dataenvgym.tasks.lessons import preference_of


class ContrastEngine(SelfTeachingEngine):
    """Writes a preference record for each problem that the student solves only sometimes.

    The prompt is all that a solved and a failed try have in common; chosen and rejected are the
    messages in which they part (see `preference_of`). In a conversation with tools the message
    that is rejected need not be the error itself, only what led to it; so of all such pairs of
    tries the one that parts last is taken, which leaves the least to chance.

    It needs the gold answers of the training split to tell right from wrong. The records train by
    DPO; `trainer.pref_ftx=1` keeps the student on the chosen messages.
    """

    def learn(self, tries: Sequence[CompletedTaskInstance]) -> Sequence[PreferenceDatum]:
        """One pair, or none where no try is right, or none is wrong; failed calls are neither."""
        right = [c for c in tries if c.was_correct]
        wrong = [c for c in tries if not c.was_correct and c.error is None]
        if not right or not wrong:
            return ()
        prompt = self.task.domain.prompt(tries[0].instance)
        pairs = (preference_of(one, other, prompt) for one in right for other in wrong)
        found = [pair for pair in pairs if pair is not None]
        return sorted(found, key=lambda pair: -len(pair.prompt))[:1]
