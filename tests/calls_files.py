"""Small files in the formats of BFCL and API-Bank."""

import json
from pathlib import Path

ADD = {
    "name": "math.add",
    "description": "Add two numbers.",
    "parameters": {
        "type": "dict",
        "properties": {
            "a": {"type": "integer", "description": "The first."},
            "b": {"type": "float"},
            "unit": {"type": "string", "optional": True},
        },
        "required": ["a", "b"],
    },
}
SAY = {
    "name": "say",
    "description": "Say something.",
    "parameters": {"type": "dict", "properties": {"text": {"type": "string"}}},
}


def question(id, content, *functions):
    return {"id": id, "question": [[{"role": "user", "content": content}]], "function": functions}


QUESTIONS = {
    "simple_python": [
        question(f"simple_python_{i}", f"What is {i} and {i + 0.5}?", ADD) for i in range(8)
    ],
    "multiple": [question(f"multiple_{i}", f"Say item {i}, please.", ADD, SAY) for i in range(4)],
    "parallel": [question(f"parallel_{i}", f"Say pair {i} both ways.", SAY) for i in range(4)],
    "irrelevance": [question(f"irrelevance_{i}", f"Fly to city {i}.", SAY) for i in range(4)],
}
ANSWERS = {
    "simple_python": [
        {"math.add": {"a": [i], "b": [i + 0.5], "unit": ["", "meters"]}} for i in range(8)
    ],
    "multiple": [{"say": {"text": [f"item {i}", f"the item {i}"]}} for i in range(4)],
}


def write_bfcl(folder: Path) -> Path:
    """Write a folder in BFCL's layout: 8 simple problems, and 4 of each other subset."""
    (folder / "possible_answer").mkdir(parents=True)
    for subset, rows in QUESTIONS.items():
        write(folder / f"BFCL_v4_{subset}.json", rows)
    for subset, calls in ANSWERS.items():
        rows = [{"id": f"{subset}_{i}", "ground_truth": [c]} for i, c in enumerate(calls)]
        write(folder / "possible_answer" / f"BFCL_v4_{subset}.json", rows)
    both = [
        {
            "id": f"parallel_{i}",
            "ground_truth": [{"say": {"text": [f"pair {i}"]}}, {"say": {"text": [f"{i} riap"]}}],
        }
        for i in range(4)
    ]
    write(folder / "possible_answer" / "BFCL_v4_parallel.json", both)
    return folder


def write(path: Path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def api(name, arguments, output, taken=None):
    result = {"api_name": name, "input": taken or arguments, "output": output, "exception": None}
    return {"role": "API", "api_name": name, "param_dict": arguments, "result": result}


TOKEN = {"username": "ann", "password": "x1"}
DIALOGUE = [
    {"role": "User", "text": "Please set an alarm."},
    {"role": "AI", "text": "For when, and who are you?"},
    {"role": "User", "text": "Ann, password x1, at 10 on 2023-01-01, twice."},
    {"role": "AI", "text": "One moment."},
    api("GetUserToken", TOKEN, {"token": "t0"}),
    api(
        "AddAlarm",
        {"token": "t0", "time": "2023-01-01 10:00:00", "times": "2"},
        "success",
        {"token": "t0", "time": "2023-01-01 10:00:00", "times": 2},
    ),
    {"role": "AI", "text": "The alarm is set."},
]


def write_dialogues(folder: Path) -> Path:
    """Write a folder with three dialogues in API-Bank's format."""
    folder.mkdir()
    write(folder / "AddAlarm-GetUserToken-level-2-1.jsonl", DIALOGUE)
    today = [
        {"role": "User", "text": "What day is it?"},
        api("GetToday", {}, "2023-01-01"),
        {"role": "AI", "text": "It is the first of January 2023."},
    ]
    write(folder / "GetToday-level-1-1.jsonl", today)
    (folder / "GetToday-level-1-2.jsonl").touch()
    return folder
