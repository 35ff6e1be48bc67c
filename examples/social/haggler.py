"""A student by rule that negotiates: it concedes later after each training."""

import re

from dataenvgym.students.predictors import RemembersFormer, ScriptedPredictor

PRICE = re.compile(r"([\d,]+) euros")


def prices(text):
    return [float(found.replace(",", "")) for found in PRICE.findall(text)]


class Haggler(RemembersFormer, ScriptedPredictor):
    """Begins far from the limit in its goal, and accepts an offer as good as its own next price."""

    def __init__(self, opening=0.4):
        super().__init__(self.reply)
        self.opening = opening

    def reply(self, conversation):
        if any(
            "] does: accept" in m.content or m.content == "[action] accept" for m in conversation
        ):
            return "[leave] Thank you, and goodbye."
        goal, _ = conversation[0].content.partition("Your goal: ")[2].split("\n", 1)
        turn = sum(message.role == "assistant" for message in conversation)
        sign = 1 if re.search(r"or more|least", goal) else -1  # it sells, or buys
        distance = self.opening * max(0.0, 1 - turn / (3 + 2 * self.trainings))
        price = round(prices(goal)[0] * (1 + sign * distance))
        if turn and any(sign * p >= sign * price for p in prices(conversation[-1].content)[-1:]):
            return "[action] accept"
        return f"[action] offer {price:,} euros" if turn < 9 else "[leave]"

    def with_adapter(self, folder):
        """A student with another adapter; `StudentSpeaker` uses it for former versions."""
        other = Haggler(self.opening)
        if folder is not None:
            other.load(folder)
        return other
