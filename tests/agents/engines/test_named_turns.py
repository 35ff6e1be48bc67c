"""Many conversations are judged in few calls."""

import json

from dataenvgym.agents.engines.named_turns import named_turns
from dataenvgym.interfaces import Reply
from dataenvgym.records import CompletedTaskInstance, Message, TaskInstance


class Judge:
    """Names the first turn of each dialogue; its first answer to one of them is not a verdict."""

    def __init__(self):
        self.sizes = []
        self.stumbled = False

    def predict(self, conversations, sampling):
        self.sizes.append(len(conversations))
        return [Reply(text=self._said(c)) for c in conversations]

    def _said(self, conversation):
        if "stumble" in str(conversation) and not self.stumbled:
            self.stumbled = True
            return "The first one."
        return json.dumps({"turns": [{"turn": 2, "reason": "It came first."}]})


def tried(*words):
    roles = ("user", "assistant")
    transcript = tuple(Message(role=roles[i % 2], content=w) for i, w in enumerate(words))
    instance = TaskInstance(id=words[0], task="t", instruction="Win.")
    places = [i for i in range(len(words)) if i % 2]
    return CompletedTaskInstance(
        instance=instance, transcript=transcript, reward=0.0, was_correct=False
    ), places


def test_dialogues_with_the_same_turns_are_judged_in_one_call_and_asked_again_apart():
    judge = Judge()
    short = [tried(str(n), "a") for n in range(5)] + [tried("stumble", "a")]
    long = [tried(str(n), "a", "b", "c") for n in range(3)]
    found = named_turns(judge, [*short, *long])
    assert [[named.turn for named in verdict] for verdict in found] == [[1]] * 9
    assert judge.sizes == [6, 3, 1]
