"""A task for tests: a strategist who buys lamps, in one turn or two."""

from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.environment import PlayOptions
from dataenvgym.domains.social.problem import SocialProblem, to_instance
from dataenvgym.domains.social.profiles import Character, Deal, Goal, Scene
from dataenvgym.interfaces import Failure
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks import Task
from tests.fakes import Trying, turn_of


def problem(number: int):
    played = Scene(
        id=f"lamp-{number}",
        scenario=f"Lamp {number}.",
        goals=(Goal(text="Sell."), Goal(text="Buy.")),
        motive="competitive",
        deal=Deal(item="lamp", seller_least=100, buyer_most=140),
    )
    who = tuple(Character(id=n, first_name=n, last_name="L", age=30) for n in ("Ann", "Bob"))
    put = SocialProblem(scene=played, characters=who, seat=1)
    return to_instance(put, id=played.id, task="lamps")


class Lamps(Task):
    """Ann wants 110 euros for each of some lamps; Bob accepts, leaves or waits as advised."""

    name = "lamps"

    def __init__(self, n: int = 3, *, judge=None, speaker=None, partner=None, **options):
        others = {
            "speaker": ScriptedPredictor(speaker or self.act),
            "partner": ScriptedPredictor(partner or self.offer),
        }
        if judge is not None:
            others["judge"] = ScriptedPredictor(judge)
        self._n = n
        domain = SocialDomain(options=PlayOptions(role="strategist"))
        super().__init__(domain=domain, others=others, **options)

    def load(self, split):
        first = {"train": 0, "validation": 100, "test": 200}[split]
        return [problem(first + i) for i in range(self._n if split == "train" else 1)]

    @staticmethod
    def offer(conversation):
        return "[leave]" if "does: accept" in str(conversation) else "[action] offer 110 euros"

    @staticmethod
    def act(conversation):
        advice = conversation[-1].content.splitlines()[-1]
        if "accept" in advice:
            return "[action] accept"
        if "half" in advice:
            return "[action] offer 120 euros"
        return "[leave]" if "walk" in advice else "Hm."


class Tries(Trying):
    """Says the n-th list of strategies in its n-th try at all problems."""

    def __init__(self, *tries):
        super().__init__(lambda c, n: tries[n % len(tries)][turn_of(c)])


SOLD = ("Strategy: wait", "Strategy: accept")  # 110 of 140..100 is a goal score of 8.75
WALKED = ("Strategy: wait", "Strategy: walk")
FAILED = ("Strategy: wait", Failure(reason="timed out"))
