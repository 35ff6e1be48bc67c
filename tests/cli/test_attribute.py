"""`dataenvgym attribute`, and what `report` and `show` then have."""

import json


def test_effects_are_in_the_table_the_report_and_beside_the_records(dataenvgym, run, folder):
    for command in ("report", "show"):
        assert "what helped" not in dataenvgym(command, "r").out
    options = ["--iteration", "1", "--by", "record", "--limit", "2", "--repeats", "1", "--trust"]
    first = dataenvgym.succeeds("attribute", "r", *options)
    assert "what helped in iteration 1, by record" in first.out
    assert "With all 20 records the score is" in first.out
    assert first.out.endswith("runs/r/attribution/table.md\n")
    again = dataenvgym.succeeds("attribute", "r", *options)
    assert again.out.splitlines()[-12:] == first.out.splitlines()[-12:]
    assert "what helped in iteration 1, by record" in dataenvgym.succeeds("report", "r").out
    shown = dataenvgym.succeeds("show", "r", "--iteration", "1", "--limit", "50").out
    assert shown.count("score +") + shown.count("score -") == 2
    assert "score +" not in dataenvgym.succeeds("show", "r", "--iteration", "2").out
    (folder / "mine.json").write_text(json.dumps({"first two": ["001-00000", "001-00001"]}))
    options = ["--iteration", "1", "--groups", "mine.json", "--repeats", "1", "--trust"]
    lines = dataenvgym.succeeds("attribute", "r", *options).out.splitlines()
    assert ["first", "two", "2"] in [line.split()[:3] for line in lines]


def test_mistakes_are_refused(dataenvgym, run, as_received):
    dataenvgym.refuses("by is 'skil'", "attribute", "r", "--by", "skil")
    dataenvgym.refuses("no.json", "attribute", "r", "--groups", "no.json")
    dataenvgym.refuses("iteration 9", "attribute", "r", "--iteration", "9")
    as_received()
    dataenvgym.refuses("a folder may not choose", "attribute", "r")
