import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.runs.config import config_directory
from dataenvgym.teachers.prompts import Prompt, as_prompt, default_prompt, read_prompt

OURS = sorted(path.stem for path in (config_directory() / "prompt").glob("*.yaml"))


def said(prompt: Prompt, **values) -> str:
    return prompt.render(**values)[-1].content


def test_names_are_replaced_by_values_in_both_messages():
    prompt = Prompt(system="You know {topic}.", user="Write {count} about {topic}.")
    system, user = prompt.render(topic="sums", count=3)
    assert (system.role, system.content) == ("system", "You know sums.")
    assert (user.role, user.content) == ("user", "Write 3 about sums.")


@pytest.mark.parametrize(
    "text",
    [
        r"\frac{aa}{bb} and \boxed{answer}",
        r"x^{two} and a_{ij}",
        '{"records": [{"instruction": "...", "output": "..."}]}',
        "{} and {x} and {3} and { count }",
    ],
)
def test_other_braces_are_text(text):
    (message,) = Prompt(user=text).render()  # and no system message
    assert message.content == text


def test_doubled_braces_and_braces_in_values_are_text():
    assert said(Prompt(user="{{count}} is {count}"), count=2) == "{count} is 2"
    assert said(Prompt(user="{first} {second}"), first="{second}", second="x") == "{second} x"


def test_a_paragraph_without_any_value_is_left_out():
    prompt = Prompt(user="Write {count}.\n\nThe skill:\n{skill}\n\nLike {a_} or {b_}.\n\nEnd.")
    assert said(prompt, count=1, skill=None, a_="", b_="y") == "Write 1.\n\nLike  or y.\n\nEnd."


@pytest.mark.parametrize(
    ("prompt", "needs", "said"),
    [
        ({"user": "{count} {skil}"}, ("count",), r"has a \{skil\}.*Did you mean 'skill'"),
        ("records", ("problem",), r"'records' has no \{problem\}"),
        ({"user": "Hi", "sytem": "x"}, (), "sytem"),
        ("math_record", (), "Did you mean 'math_records'"),
    ],
)
def test_a_mistake_is_found_when_the_prompt_is_read(prompt, needs, said):
    may = ("count", "skill", "examples", "samples", "written")
    with pytest.raises(ConfigurationError, match=said):
        as_prompt(prompt, needs=needs, may=may)


def test_a_file_that_is_not_a_prompt_is_named(tmp_path):
    (tmp_path / "mine.yaml").write_text("- a\n")
    with pytest.raises(ConfigurationError, match="mine"):
        read_prompt(tmp_path / "mine.yaml")
    (tmp_path / "mine.yaml").write_text("user: [")
    with pytest.raises(ConfigurationError, match="as a prompt"):
        read_prompt(tmp_path / "mine.yaml")


@pytest.mark.parametrize("name", OURS)
def test_each_of_our_prompts_is_described_reads_and_says_all_its_values(name):
    prompt = default_prompt(name)
    values = {n: f"<{n}>" for n in prompt.names}
    text = "".join(m.content for m in prompt.render(**values))
    assert all(value in text for value in values.values())
    comment = (config_directory() / "prompt" / f"{name}.yaml").read_text().split("system:")[0]
    assert comment.startswith("# ")
    if not name.startswith("math_"):
        assert all(f"{{{n}}}" in comment for n in prompt.names)
