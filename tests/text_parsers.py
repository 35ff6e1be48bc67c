"""Everything that reads a text of a student, a teacher, a user or a judge."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import cache

from dataenvgym import exact_json
from dataenvgym.agents.engines import seeded
from dataenvgym.agents.engines.llm.records import records_in
from dataenvgym.agents.engines.record_pool import TextSimilarity
from dataenvgym.agents.skills.embeddings import masked
from dataenvgym.domains.code.pocket import PocketCodeTask
from dataenvgym.domains.code.result_comparison import same_output
from dataenvgym.domains.code.static_analysis import normalized as normalized_code
from dataenvgym.domains.code.static_analysis import problem_in, surroundings, with_known_names
from dataenvgym.domains.few_shot.augmentations import read_self_edit
from dataenvgym.domains.few_shot.problem import key_of, read_grid, read_problem
from dataenvgym.domains.knowledge.choice import read_choice
from dataenvgym.domains.knowledge.environment import Passage, exact_match, f1
from dataenvgym.domains.knowledge.pocket import PocketKnowledgeTask
from dataenvgym.domains.knowledge.self_edits import train_sequences
from dataenvgym.domains.math import reasoning_gym
from dataenvgym.domains.math.domain import MathDomain
from dataenvgym.domains.math.pocket import PocketMathTask, solve
from dataenvgym.domains.social import SocialTask, procedural
from dataenvgym.domains.social.actions import read_action
from dataenvgym.domains.social.pocket import PocketSocialTask
from dataenvgym.domains.social.problem import SocialProblem
from dataenvgym.domains.social.scene_log import stuck
from dataenvgym.domains.social.scores import is_whole, mentions
from dataenvgym.domains.social.strategies import Strategies
from dataenvgym.domains.social.transcripts import is_transcript, read_scene
from dataenvgym.domains.textworld.flowbench import call_of
from dataenvgym.domains.textworld.pocket import PocketTextworldTask
from dataenvgym.domains.textworld.task import TextworldHouseTask, TextworldShopTask
from dataenvgym.domains.tool_use.calls.api_bank_text import messages_in
from dataenvgym.domains.tool_use.calls.environment import rouge_l
from dataenvgym.domains.tool_use.calls.problem import from_text
from dataenvgym.domains.tool_use.calls.search import found
from dataenvgym.domains.tool_use.fact_matching import says
from dataenvgym.domains.tool_use.matching import is_acceptable_leniently
from dataenvgym.domains.tool_use.plans import code_form, json_form
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.domains.tool_use.user_seat import Conduct
from dataenvgym.domains.tool_use.users import ModelUser
from dataenvgym.environments.overlap import EvaluationOverlap, SeenTexts, normalized, record_text
from dataenvgym.errors import escaped
from dataenvgym.events import keep_secrets_of, redact, without_secrets
from dataenvgym.interfaces import Reply
from dataenvgym.records import (
    Message,
    Provenance,
    SupervisedDatum,
    TaskInstance,
    Tool,
    ToolCall,
    parse_training_datum,
)
from dataenvgym.records.tool_formats import TOOL_FORMATS, malformed_call, read_reply
from dataenvgym.records.tool_formats.thoughts import blanked, said_in
from dataenvgym.runs.documents import Quote, inline, markdown
from dataenvgym.sandbox import supervision
from dataenvgym.students.llama_factory.entries import TAGS, parse_turn
from dataenvgym.students.trainers.llama_factory.slots import Slots
from dataenvgym.tasks.judging.rubric import RubricVerdict
from dataenvgym.tasks.judging.verdicts import read_verdict
from dataenvgym.tasks.rollouts import instance_rollout
from dataenvgym.tasks.scoring import extract_final_answer
from dataenvgym.tasks.scoring.code.extraction import LONGEST_CODE, extract_code
from dataenvgym.tasks.scoring.grading import settle
from dataenvgym.teachers import payloads
from dataenvgym.teachers.repair import json_alone, json_in
from dataenvgym.teachers.structured import parse_reply

UTTERANCE = 4_000
"""Characters of an utterance at most."""

Parser = Callable[[str], object]
MADE = Provenance(agent="a", iteration=0)
TOOL = Tool(name="f", description="", parameters={"type": "object", "properties": {}})
DECLARING = (Message(role="system", content="", tools=(TOOL,)),)
HERE = "{{content}}"
CHAT = Slots("", system="", user=HERE, assistant=HERE, default_system="", thinks=True)
SEEN = SeenTexts(0.8)
OVERLAP = EvaluationOverlap(["What is the sum of these?"])
ONE_TEST = problem_in("assert f(1) == 2")
USER = ModelUser(
    instructions="i", facts=({"asked": ["a b"], "tell": "10 euros"},), must_not_say=("no way",)
)


def record(text: str) -> SupervisedDatum:
    return SupervisedDatum(instruction=text, output=text, provenance=MADE)


def json_alone_or_why(text: str) -> object:
    with suppress(ValueError):
        return json_alone(text)
    return None


def dialogue_of_api_bank(text: str) -> object:
    with suppress(ValueError):
        return messages_in(f"User: {text}\nAPI-Request: [f(a='{text}')]->{text}")
    return None


def calls_in_dataset(text: str) -> object:
    return parse_turn({"from": "function_call", "value": text}, TAGS, "")


def earlier_reply(text: str) -> object:
    said = [("user", "a"), ("assistant", text), ("user", "b"), ("assistant", "c")]
    chat = tuple(Message(role=r, content=t) for r, t in said)
    return [*CHAT.prompts(chat, is_last=True)]


@cache
def task(kind: type, **options: object) -> object:
    return kind(n_train=10, n_validation=10, n_test=10, split="validation", **options)


def stepping(made: Callable[[], object], kind: Callable[..., object] = type) -> Parser:
    """The reply in one problem of each kind of the task; by default, there is one kind."""

    @cache
    def environment() -> object:
        first = {kind(problem): problem for problem in made().instances}
        return made().make_environment(), list(first.values())

    def step(text: str) -> None:
        made, problems = environment()
        for problem in problems:
            made.reset(seed=0, options={"instance": problem})
            made.step(text)

    return step


def known_to(made: Callable[[], object]) -> Parser:
    """The record as a problem and an answer of the task's domain."""

    def know(text: str) -> None:
        domain = made().domain
        domain.overlap_key(text)
        domain.problem_of_record(record(text))
        domain.prompt_template.unframe(record(text))

    return know


def rules_of(problem: TaskInstance) -> object:
    """Which fields of the scene are set: its deal, its swap, its secrets."""
    return frozenset(name for name, value in problem.data_as(SocialProblem).scene if value)


def utterance(parser: Parser) -> Parser:
    return lambda text: parser(text[:UTTERANCE])


def math():
    return task(PocketMathTask)


def tools():
    return task(PocketToolsTask)


def code():
    return task(PocketCodeTask)


def knowledge():
    return task(PocketKnowledgeTask)


def social():
    return task(PocketSocialTask)


def house():
    return task(TextworldHouseTask)


def shop():
    return task(TextworldShopTask)


def rooms():
    return task(PocketTextworldTask)


@cache
def scenes():
    return SocialTask(partner="fair")


EACH = (math, tools, code, social, knowledge, house, shop, rooms)
IN_THE_SHOP = stepping(shop)
PARSERS: dict[str, Parser] = {
    # few-shot puzzles
    "grid": read_grid,
    "array of a grid": lambda text: read_grid(f"[[0, 1], [{text}"),
    "puzzle": lambda text: (read_problem(text), key_of(text)),
    "puzzle with a demonstration": lambda text: read_problem(
        f"Input:\n1\nOutput:\n{text}\n\nInput:\n{text}\nOutput:"
    ),
    "self-edit of a puzzle": read_self_edit,
    # math
    "final answer": extract_final_answer,
    "what the answer is": lambda text: extract_final_answer(f"The answer is {text}"),
    "what the answer to it is": lambda text: extract_final_answer(f"The answer to{text}x"),
    "box": lambda text: extract_final_answer(f"\\boxed{{{text}}}"),
    "answer tag": lambda text: reasoning_gym._answer_in(f"<answer>{text}"),
    "size of an answer": lambda text: reasoning_gym._HUGE.search(text[:10_000]),
    "answer compared": lambda text: settle("12", text[:2000]),
    "answers compared": lambda text: settle(text[:1000] + "1", text[:1000] + "2"),
    "problem compared": MathDomain().overlap_key,
    "pocket question": solve,
    # code
    "program": extract_code,
    "code": lambda text: extract_code(text, "f", starter="def f(x):\n    '''One.'''\n"),
    "code in a fence": lambda text: extract_code(f"```python\ndef f(x):\n  )\n{text}\n```", "f"),
    "code in a plain fence": lambda text: extract_code(f"```\n{text}\n```"),
    "code left open": lambda text: extract_code(f"```python\ndef g(x):\n  return (\n{text}", "f"),
    "method": lambda text: extract_code(f"class A\n{text}", "A.f"),
    "question with tests": problem_in,
    "tests of a question": lambda text: with_known_names(ONE_TEST, text[:LONGEST_CODE]),
    "definitions": lambda text: surroundings(text[:LONGEST_CODE], "f"),
    "code compared": lambda text: normalized_code(text[:LONGEST_CODE]),
    "output of code": lambda text: same_output(text, f"{text}1", tolerance=1e-9),
    "errors of code": lambda text: supervision._MEMORY_ERROR.match(text.encode(errors="replace")),
    # tools
    **{f"calls in format {name}": known.parse for name, known in TOOL_FORMATS.items()},
    "calls of declared tools": lambda text: read_reply(DECLARING, text),
    "thoughts": lambda text: (said_in(text), blanked(text)),
    "malformed calls": malformed_call,
    "calls in a dialogue": from_text,
    "calls in a dataset": calls_in_dataset,
    "a dialogue of API-Bank": dialogue_of_api_bank,
    "value compared": lambda text: is_acceptable_leniently(text, ["a"], {}, listed=False),
    "dialogue compared": lambda text: rouge_l(text, "the meeting is on Monday at ten " * 4),
    "search for tools": lambda text: found(
        ToolCall(name="s", arguments={"keywords": text}), [TOOL]
    ),
    "plan in JSON": json_form.read,
    "plan with references": lambda text: json_form.read(
        json.dumps([{"id": 0, "name": "f", "args": {"a": text}}])
    ),
    "plan in code": lambda text: code_form.read(text, {"f"}),
    # servers
    "error of a server": lambda text: payloads.OF_ONE.search(text.encode(errors="replace")),
    "long numbers": lambda text: exact_json.loads(
        f"[{10**320}, {json.dumps(text)}]", as_written=True
    ),
    "text without what was said": lambda text: instance_rollout._without(
        (Message(role="user", content=text),), [text]
    ),
    # knowledge
    "choice": lambda text: read_choice(text, ["Paris", "Rome"]),
    "answer to a question": lambda text: (exact_match(text, ["Denver"]), f1(text, ["Denver"])),
    "self-edit": lambda text: train_sequences(text, Passage("T", "A.")),
    "self-edit of questions": lambda text: train_sequences(
        f"Question 1: A\nAnswer: B\n{text}", Passage("T", "A.")
    ),
    "pocket knowledge": stepping(knowledge),
    # users
    "facts told": lambda text: says(text, "The balance is 10 euros on 2026-01-05."),
    "fact wanted": lambda text: says("The balance is 10 euros.", text),
    "words of a user": lambda text: Conduct(USER, "").broken_rule("a b", text[:8000], stops=False),
    "words to a user": lambda text: Conduct(USER, "").broken_rule(text, "Yes.", stops=False),
    # scenes and other problems, step by step
    "action": lambda text: read_action(text[: 2 * UTTERANCE]),
    "strategy": Strategies().read,
    "scenes": utterance(stepping(scenes, rules_of)),
    "pocket scenes": utterance(stepping(social, rules_of)),
    "question of a scene": lambda text: procedural._LAST_SENTENCE.fullmatch(text),
    "scene of a teacher": read_scene,
    "scene in a message": lambda text: is_transcript(text, text),
    "phrase mentioned": lambda text: mentions([text], ["in the mill"]),
    "phrase alone": lambda text: is_whole(text, ["in the mill"]),
    "words without end": lambda text: stuck([text] * 3),
    "pocket math": stepping(math),
    "pocket tools": stepping(tools),
    "house": stepping(house),
    "shop": stepping(shop),
    "action in the shop": lambda text: IN_THE_SHOP(f"Action: {text}"),
    "search in the shop": lambda text: IN_THE_SHOP(f"Action: search[{text}]"),
    "pocket text world": stepping(rooms),
    "action as a call": call_of,
    "conversation with a world": lambda text: shop().domain.frame(record(text)),
    # records, verdicts
    **{f"records of {made.__name__}": known_to(made) for made in EACH},
    "JSON repaired": lambda text: list(json_in(text)),
    "JSON alone": json_alone_or_why,
    "structured reply": lambda text: parse_reply(Reply(text=text), {"type": "object"}),
    "records in a reply": lambda text: records_in(Reply(text=text), MADE),
    "verdict": lambda text: read_verdict(text, RubricVerdict),
    "record": lambda text: parse_training_datum({"instruction": text, "output": text}),
    "record compared": lambda text: SEEN.fingerprint(normalized(record_text(record(text)))),
    "record and evaluation": lambda text: record(text) in OVERLAP,
    "similar records": lambda text: TextSimilarity(["a b c"]).to([text]),
    "numbers of a record": lambda text: seeded._NUMBER.findall(text),
    "numbers masked": masked,
    "earlier reply": earlier_reply,
    # what is shown
    "secrets": lambda text: (keep_secrets_of(text), without_secrets(text), redact(text)),
    "text of any source": escaped,
    "text shown": lambda text: (inline(text), markdown([Quote("", text)])),
}
