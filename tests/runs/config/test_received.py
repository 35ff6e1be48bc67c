"""Every option that a configuration can name, in a folder from somebody else."""

from typing import Any, Literal

import pytest
from omegaconf import OmegaConf

from dataenvgym.options import PlainText, parameters_of
from dataenvgym.runs.config.groups import read_with_bases, sources_by_group
from dataenvgym.runs.config.instantiation import imported
from dataenvgym.runs.config.received import foreign
from dataenvgym.runs.config.values import leaves

TEXTS = {
    "answer_field", "balance", "question_field", "reply", "rubric", "stop",
    "system", "system_prompt", "template", "user", "where",
}  # fmt: skip
"""The options that are used as text only. Before you add one, read all code that gets its value."""
EVIL = "evil.module"
SHAPES: dict[str, Any] = {
    "text": EVIL,
    "list": [EVIL],
    "mapping": {"evil": EVIL},
    "nested": {"evil": {"evil": [EVIL]}},
    "class": {"_target_": "os.system", "command": EVIL},
    "classes": {"evil": {"_target_": "os.system"}},
}
EMPTY = OmegaConf.create({})


def classes():
    """Each class that a configuration can name, with its section."""
    found = {("judge", "dataenvgym.tasks.judging.RubricJudge")}
    for group, files in sources_by_group(None).items():
        for file in files:
            for key, value in leaves(read_with_bases(file, files)):
                if key.rpartition(".")[2] == "_target_" and value not in (None, "???"):
                    found.add((group.partition("/")[0], value))
    return sorted(found)


@pytest.mark.parametrize(
    "shape", ["text", *(pytest.param(shape, marks=pytest.mark.slow) for shape in [*SHAPES][1:])]
)
def test_only_options_that_are_marked_as_text_take_any_text_from_a_folder(shape):
    n, all_taken = 0, set()
    for section, target in classes():
        options = parameters_of(imported(target, ""))[0]
        value = {"_target_": target, **dict.fromkeys(options, SHAPES[shape])}
        refused = {key.split(".")[1] for key, _ in foreign(section, EMPTY, value, None)}
        taken = {*options} - refused
        assert taken <= (set() if "class" in shape else TEXTS), target
        n, all_taken = n + len(options), all_taken | taken
    assert n > 1000
    in_classes = set() if "class" in shape else TEXTS - {"stop", "system", "user"}  # of groups
    assert in_classes <= all_taken


class New:
    """A class with options of each kind."""

    def __init__(
        self,
        number: float = 0.5,
        switch: bool = False,
        name: Literal["a", "b"] = "a",
        text: str = "",
        marked: PlainText[str] = "",
        numbers: dict[str, int] | None = None,
        anything: dict[str, Any] | None = None,
        unknown=None,
    ) -> None: ...


def test_an_option_is_harmless_by_its_type(tmp_path):
    harmless = [
        *({"number": 3}, {"switch": True}, {"name": "b"}, {"marked": "any"}, {"numbers": {"x": 1}})
    ]
    harmful = [
        {"name": "/etc/passwd"},
        {"text": "any"},
        {"numbers": {"x": "y"}},
        {"anything": {"trust_remote_code": True}},
        {"unknown": True},
        {"missing": "any"},
    ]
    (tmp_path / "task").mkdir()
    target = f"{__name__}.New"
    (tmp_path / "task" / "new.yaml").write_text(f"_target_: {target}\n")
    values = [{"_target_": target, **options} for options in (*harmless, *harmful)]
    refused = [key.split(".")[1] for key, _ in foreign("task", EMPTY, values, tmp_path)]
    assert refused == [str(len(harmless) + number) for number in range(len(harmful))]
