from dataenvgym.records import parse_training_datum
from dataenvgym.runs.documents import plain
from dataenvgym.runs.texts import record


def test_control_characters_are_spelled_out_and_letters_are_not():
    assert plain("a\x1b[31m\x07\x9b b\rc\n\td\u202ee") == (
        "a\\x1b[31m\\x07\\x9b b\\rc\n\td\\u202ee"
    )
    assert plain("Größe 数学 👩‍🏫 [red]") == "Größe 数学 👩‍🏫 [red]"


def test_every_kind_of_record_shows_what_it_teaches():
    kinds = [
        ({"instruction": "q", "input": "i", "output": "a", "system": "s"},
         "system: s\nuser: q\ni\nassistant: a"),
        ({"kind": "kto", "instruction": "q", "output": "a", "desirable": False},
         "user: q\nassistant (undesirable): a"),
        ({"kind": "preference", "instruction": "q", "chosen": "a", "rejected": "b"},
         "user: q\nchosen: a\nrejected: b"),
        ({"kind": "preference", "messages": [{"role": "user", "content": "q"}],
          "tools": [{"name": "f", "description": "d"}], "chosen": "a",
          "rejected": [{"role": "assistant", "content": "",
                        "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}]},
         "user: q\n  may call f: d\nchosen: a\nrejected: \n  calls f({'x': 1})"),
        ({"kind": "text", "text": "t"}, "t"),
        ({"kind": "scored", "system": "s", "weights": [-0.25, None], "messages": [
            {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"},
            {"role": "user", "content": "r"}, {"role": "assistant", "content": "b"}]},
         "system: s\nuser: q\nassistant (weight -0.25): a\nuser: r\nassistant (not scored): b"),
        ({"kind": "chat", "system": "s", "messages": [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "",
             "tool_calls": [{"name": "f", "arguments": {"x": 1}}]}]},
         "system: s\nuser: q\nassistant: \n  calls f({'x': 1})"),
    ]  # fmt: skip
    for value, expected in kinds:
        assert record(parse_training_datum(value)) == expected
