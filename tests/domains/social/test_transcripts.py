"""Scenes as teachers write them become conversations; a scene in one reply is found."""

import numpy as np
import pytest

from dataenvgym.domains.social import SocialTask
from dataenvgym.domains.social.domain import SocialDomain
from dataenvgym.domains.social.evaluators import DIMENSIONS
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.social.transcripts import is_transcript, read_scene
from dataenvgym.environments.checks import RecordChecks
from dataenvgym.records import ChatDatum, PreferenceDatum, SupervisedDatum
from dataenvgym.students.predictors import ScriptedPredictor
from dataenvgym.tasks.record_conversion import record_of
from tests.domains.social.social_scenes import instance, scene

SMALL = {"n_train": 32, "n_validation": 4, "n_test": 4}
FRAME = {"system_prompt": "Be brief.", "template": "Read:\n{instruction}\nNow you."}
ACTS = (
    *("Hello.", "What is your price?", "I say 6 euros.", "Deal.", "[none]", "[leave] Goodbye."),
    *("[action] opens the window", "[non-verbal communication] nods", "My kite for your sofa."),
    *("Two lines:\nthis is one.\n    And one more.", "A list:\n- 1\n- 2\n\nThe end.", "Note: no."),
)
FAULT = "You: 12?\nScene: Ann says: 10.\nYou: deal"


def speaker(seed, acts=ACTS):
    rng = np.random.default_rng(seed)
    return ScriptedPredictor(lambda conversation: acts[int(rng.integers(len(acts)))])


def tasks():
    partner = {"partner": speaker(1), "judge": speaker(2, ['{"goal": {"reason": "", "score": 5}}'])}
    advised = {"role": "strategist", "others": {"speaker": speaker(3)}}
    return {
        "pocket": PocketSocialTask(**SMALL),
        "pocket with a frame": PocketSocialTask(**SMALL, **FRAME),
        "pocket strategist": PocketSocialTask(**SMALL, **advised),
        "negotiations": SocialTask(**FRAME),
        "models": SocialTask(partner="model", others=partner),
        "strategist": SocialTask(**advised),
        "procedural": SocialTask("procedural", n_procedural=80),
        "epo": SocialTask(partner="model", others=partner, rules="epo", order="random"),
    }


@pytest.mark.parametrize("name", tasks())
def test_a_written_scene_becomes_the_conversation_of_the_environment(name):
    task = tasks()[name]
    words = ("Strategy: hold", "Strategy: give way") if "strategist" in name else ACTS
    words = ACTS[:6] if name == "epo" else words
    done = task.attempt(speaker(0, words), list(task.on("train").instances)[:32], samples=2)
    done = [one for one in done if one.error is None]
    assert len(done) > 20
    for one in done:
        text = task.domain.tried_text(one)
        written = SupervisedDatum(instruction=task.domain.text_of(one.instance), output=text)
        expected = record_of(one)
        record = task.domain.frame(written)
        assert record.model_dump(exclude={"provenance"}) == expected.model_dump(
            exclude={"provenance"}
        )
        assert task.domain.record_fault(record) is None
        assert task.domain.frame(record) == record if isinstance(record, SupervisedDatum) else True


def test_the_others_in_a_scene_of_the_family_act_as_they_do_there():
    domain = PocketSocialTask(**SMALL).domain
    record = SupervisedDatum(
        instruction="You sell a bag worth 4. They push, yet have 5. Resist.",
        output="Scene: [Zed] says: I pay 900 euros.\nYou: I say 5 euros.\nScene: [Zed] does: jumps"
        "\nYou: I say 5 euros.\nScene: [Zed] says: Why?\nYou: I do not know.",
    )
    heard = [m.content for m in domain.frame(record).messages if m.role == "user"]
    assert heard[0].endswith("[Person 1] says: I pay 2 euros.")
    assert heard[1:] == ["[Person 1] says: I pay 3 euros."]  # and then they agree
    assert domain.judge_record(domain.frame(record))


def test_a_scene_that_only_a_judge_can_score_is_taught_too():
    judged = {"dimensions": tuple(DIMENSIONS), "others": {"judge": speaker(0)}}
    for task in (SocialTask(**judged), SocialTask("procedural", n_procedural=80, **judged)):
        problem = task.instances[0]
        assert task.domain.gold_text(problem) is None
        written = "You: Hello.\nScene: [Person 2] says: Hi.\nYou: [leave] Bye."
        record = task.domain.frame(
            SupervisedDatum(instruction=task.domain.text_of(problem), output=written)
        )
        said = [m.content for m in record.messages if m.role == "assistant"]
        assert said == ["Hello.", "[leave] Bye."]


def test_an_introduction_without_its_end_gets_it():
    domain = SocialDomain()
    problem = instance(scene())
    opening = domain.text_of(problem)
    short = opening.rpartition("\n\n")[0]
    for written in (short, opening):
        record = domain.frame(SupervisedDatum(instruction=written, output="You: Tea?"))
        assert (record.prompt, record.output) == (domain.prompt(problem), "Tea?")


@pytest.mark.parametrize(
    "output",
    [
        FAULT, "You: 12?\nYou: deal", "12?\nScene: [Ann] says: 10.", "Scene: [Ann] says: 10.",
        "You: 12?\nScene: [Ann] says: 10\nand 11.\nYou: deal",
    ],
)  # fmt: skip
def test_a_scene_in_another_form_is_one_reply_and_is_dropped(output):
    task = PocketSocialTask(**SMALL)
    assert read_scene(output) is None
    record = task.domain.frame(SupervisedDatum(instruction="Haggle with Ann.", output=output))
    assert record.output == output
    assert RecordChecks(task).check([record]).reasons == {"transcript": 1}


def test_every_kind_of_record_with_a_scene_in_one_reply_is_dropped():
    task = PocketSocialTask(**SMALL)
    good = SupervisedDatum(instruction="Be kind.", output="Hello.")
    bad = SupervisedDatum(instruction="Haggle.", output=FAULT)
    chat = [{"role": "user", "content": "Talk."}, {"role": "assistant", "content": FAULT}]
    more = [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "Yes."}]
    pair = {"instruction": "Choose well."}
    records = [
        *(good, bad, ChatDatum(messages=chat), ChatDatum(messages=[*chat, *more])),
        PreferenceDatum(**pair, chosen=FAULT, rejected="No."),
        PreferenceDatum(**pair | {"instruction": "Choose."}, chosen="Yes.", rejected=FAULT),
    ]
    checked = RecordChecks(task).check(records)
    assert [one.record for one in checked if not one.is_accepted] == records[1:5]
    assert checked.reasons == {"transcript": 4}


PROMPT = (
    "You are Ann Lee.\n\nWith you is Bob Ng (friend).\n\nYour goal: Sell it.\n\n[Bob Ng] says: Hi."
)


def test_scenes_in_any_style_are_found_and_replies_are_not():
    rng = np.random.default_rng(0)
    speakers = [
        *(("You", "Scene"), ("You", "Bob Ng"), ("Ann", "Bob"), ("ANN LEE", "Bob Ng")),
        *(("Seller", "Buyer"), ("Student", "Partner"), ("Person 1", "Person 2")),
    ]
    styles = ("{}: {}", "**{}**: {}", "[{}] says: {}", "{} says: {}", "- {}: {}", '{} said: "{}"')
    words = ("12 euros?", "No.", "What about 10?", "deal", "I agree: 10.")
    for _ in range(2000):
        who, style = speakers[rng.integers(len(speakers))], styles[rng.integers(len(styles))]
        said = [
            style.format(who[n % 2], words[rng.integers(len(words))])
            for n in range(rng.integers(2, 7))
        ]
        assert is_transcript(rng.choice(["\n", "\n\n"]).join(said), PROMPT), said
    parts = (
        *("Here is my offer:", "Price: 20 euros", "Delivery: Monday", "- Me: two", "You: three"),
        *("I would say: yes.", "Bob, listen: no.", "My price: 10", "", "1: the lamp", "Deal."),
        *("[action] waves", "[speak to Bob Ng] Psst: 3.", "Well, Bob Ng: why?", "So: fine."),
    )
    for _ in range(2000):
        said = "\n".join(rng.choice(parts, size=rng.integers(1, 6)))
        assert not is_transcript(said, PROMPT) or said.startswith("You:"), said
