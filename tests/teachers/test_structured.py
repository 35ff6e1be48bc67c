import json
import time

import numpy as np
import pytest

from dataenvgym.interfaces import Failure, Reply, SamplingParameters
from dataenvgym.records import Message
from dataenvgym.teachers.repair import json_alone, json_in
from dataenvgym.teachers.structured import ask_json, fits, parse_reply
from tests.fakes import Teacher

LABELS = {
    "type": "object",
    "properties": {
        "labels": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"number": {"type": "integer"}, "skill": {"type": "string"}},
                "required": ["number", "skill"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["labels"],
    "additionalProperties": False,
}
LABEL = {"number": 1, "skill": "sum"}


def first(text: str):
    return next(json_in(text), None)


# --- repair -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_good_json_is_read_as_every_reader_reads_it(seed):
    value = [_random_value(np.random.default_rng(seed), 0)]
    assert first(json.dumps(value)) == value
    assert first(json.dumps(value, indent=2, ensure_ascii=False)) == value


def _random_value(rng: np.random.Generator, depth: int):
    kind = rng.integers(7 if depth < 4 else 5)
    if kind == 5:
        return [_random_value(rng, depth + 1) for _ in range(rng.integers(4))]
    if kind == 6:
        return {f"k{i} {{[": _random_value(rng, depth + 1) for i in range(rng.integers(4))}
    choices = (None, True, int(rng.integers(-99, 99)), float(rng.normal() * 1e9), 'é "\\ \n 😀 ]}')
    return choices[int(kind)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Sure, here it is:\n```json\n{"a": 1}\n```\nAnything else?', {"a": 1}),
        ('The answer is {"a": [1, 2,],}.', {"a": [1, 2]}),
        ('[{"a": 1}\n{"a": 2}]', [{"a": 1}, {"a": 2}]),
        ("{'a': \"it's\", 'b': True, 'c': None}", {"a": "it's", "b": True, "c": None}),
        ('{"a": "two\nlines"}', {"a": "two\nlines"}),
        (r'{"a": "\(x\) \frac{1}{2} \times \text{cm} \neq \nnext"}', None),
        ('<think>Perhaps {"a": 0}?</think>{"a": 1}', {"a": 1}),
        (r'{"a": "\ud83d\ude00"}', {"a": "😀"}),
    ],
)
def test_common_mistakes_of_models_in_json_are_repaired(text, value):
    latex = {"a": r"\(x\) \frac{1}{2} \times \text{cm} \neq " + "\nnext"}
    assert first(text) == (value or latex)


def test_complete_members_of_a_cut_off_reply_are_kept():
    whole = '[{"a": "one", "b": "x"}, {"a": "two", "b": "yes"}]'
    for end in range(1, len(whole)):
        found = first(whole[:end]) or []
        for item, full in zip(found, json.loads(whole), strict=False):
            assert item.items() <= full.items()
    assert first(whole[:-12]) == [{"a": "one", "b": "x"}, {"a": "two"}]
    assert first('{"a": [1, 22') == {"a": [1]}  # there may have been more digits


def test_of_several_values_each_is_found_and_none_within_another():
    assert list(json_in('As in [1], {"a": [2]} and {"b": 3}')) == [[1], {"a": [2]}, {"b": 3}]


@pytest.mark.parametrize(
    "text", ['{"a": [1], }', "```json\n{'a': [1]}\n```", '<think>{}</think>{"a": [1]}']
)
def test_json_alone_is_read_and_repaired(text):
    assert json_alone(text) == {"a": [1]}


@pytest.mark.parametrize(
    "text",
    ["", "7", '{"a": [1]} so', 'So: {"a": [1]}', '{"a": [1]}{"a": [1]}', '{"a": [1', "{a}",
     "``````", '{"a": 1, "a": 1}', '[{"b": {"a": 1, "a": 2}}]'],
)  # fmt: skip
def test_json_beside_other_text_or_cut_off_or_with_a_field_twice_is_not_alone(text):
    with pytest.raises(ValueError, match=r"one whole|'a' twice"):
        json_alone(text)


@pytest.mark.parametrize("text", ["", "no idea", "{}", "[]", "{,,", "[NaN]", "[1e999]", '"a"'])
def test_text_without_json_gives_nothing(text):
    assert [v for v in json_in(text) if v not in ([], {})] == []


GARBAGE = [p * 50_000 for p in ("[", "{", '{"a":', '"', "```", "[1,", '{"', "\\", '{"a": 1e9')]
GARBAGE.append("[" * 40 + "1," * 6_000 + "x!y z]")  # a long reply that breaks at its end


@pytest.mark.parametrize("text", GARBAGE, ids=lambda text: text[:9])
def test_garbage_of_any_length_is_read_in_no_time(text):
    begin = time.process_time()
    list(json_in(text))
    assert time.process_time() - begin < 5


@pytest.mark.parametrize("seed", range(30))
def test_random_garbage_never_raises(seed):
    rng = np.random.default_rng(seed)
    pieces = [*"{}[]\",:\\\n '", "true", "1", "-", "e", "\ud83d", "```json", "u12", "é"]
    list(json_in("".join(rng.choice(pieces, 400))))


# --- schemas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"labels": [LABEL]}),
        json.dumps([LABEL]),
        json.dumps(LABEL),
        json.dumps({"labels": LABEL}),
        "As in [1]: " + json.dumps({"labels": [LABEL]}),
        json.dumps({"labels": [LABEL], "note": "done"})[:-1],
    ],
)
def test_one_item_or_the_list_alone_is_brought_into_shape(text):
    assert parse_reply(Reply(text=text), LABELS)["labels"] == [LABEL]


def test_values_are_checked_against_the_schema():
    misfits = ([], {}, {"labels": [{"number": 1}]}, {"labels": [{"number": "1", "skill": "a"}]})
    assert not any(fits(value, LABELS) for value in misfits)
    assert fits({"labels": [{**LABEL, "more": 1}]}, LABELS)  # `additionalProperties` is for servers
    action = {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer", "minimum": 2}]}
    found = {repr(v): fits(v, action) for v in ("a", "c", 2, 1, 2.0, True)}
    assert [value for value in found if found[value]] == ["'a'", "2"]


# --- asking -------------------------------------------------------------------------------------


def test_useless_answers_and_failed_calls_are_none_and_only_the_first_are_malformed():
    good = json.dumps({"labels": [LABEL]})
    teacher = Teacher(good, "no idea", Failure(reason="500"), '{"labels": [{"number": 1}]}')
    asked = [(Message(role="user", content=str(i)),) for i in range(4)]
    sampling = SamplingParameters(temperature=0.5, seed=3)
    found = ask_json(teacher, asked, LABELS, sampling, purpose="skills")
    assert found == [{"labels": [LABEL]}, None, None, None]
    assert teacher.malformed == 2
    assert (teacher.rounds, teacher.purposes) == ([asked], {"skills"})
    assert teacher.samplings == [sampling.model_copy(update={"json_schema": LABELS})]
