import shutil

import pytest

from dataenvgym.errors import ConfigurationError
from dataenvgym.records import (
    ChatDatum,
    KTODatum,
    Message,
    PreferenceDatum,
    ScoredDatum,
    SupervisedDatum,
    TextDatum,
    Tool,
    ToolCall,
)
from dataenvgym.records.tool_formats import COMPLETION
from dataenvgym.students.predictors.generation import encode_prompts
from dataenvgym.students.trainers.completions import as_completions
from dataenvgym.students.trainers.examples import scored_examples, supervised_examples
from dataenvgym.students.trainers.student import load_tokenizer

TALK = (Message(role="user", content="1+1?"), Message(role="assistant", content="2"))
SUPERVISED = SupervisedDatum(system="Add.", instruction="1+1?", input="\n=", output=" 2")


@pytest.fixture(scope="module")
def beginning(tiny_student, tmp_path_factory):
    """A student whose tokenizer puts a token before any text."""
    from tokenizers import Tokenizer
    from tokenizers.processors import TemplateProcessing

    folder = shutil.copytree(tiny_student, tmp_path_factory.mktemp("bos") / "student")
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    known = [("<|tool|>", backend.token_to_id("<|tool|>"))]
    backend.post_processor = TemplateProcessing(single="<|tool|> $A", special_tokens=known)
    backend.save(str(folder / "tokenizer.json"))
    return str(folder)


@pytest.mark.parametrize("name", ["tiny_student", "beginning"])
def test_a_student_is_trained_on_the_tokens_that_it_is_asked_with(request, name):
    student = str(request.getfixturevalue(name))
    (record,) = as_completions([SUPERVISED], student)
    (example,) = supervised_examples([record], load_tokenizer(student, template="empty"), 512)
    asked = encode_prompts(load_tokenizer(student), [SUPERVISED.prompt], COMPLETION, context=None)
    prompt = [t for t, label in zip(example.tokens, example.labels, strict=True) if label < 0]
    assert asked == [prompt]


def test_records_of_every_kind_become_one_text_and_its_completion(tiny_student):
    said = ("user", "1+1?"), ("assistant", "2<|end|>")
    chat, scored, kto, pair, text = as_completions(
        [
            ChatDatum(messages=TALK),
            ScoredDatum(messages=TALK, weights=(0.5,)),
            KTODatum(instruction="1+1?", output="2", desirable=True),
            PreferenceDatum(instruction="1+1?", chosen="2", rejected="3"),
            TextDatum(text="1+1 makes 2"),
        ],
        str(tiny_student),
    )
    for record in (chat, scored):
        assert tuple((m.role, m.content) for m in record.messages) == said
    assert (kto.instruction, kto.output, kto.desirable) == ("1+1?", "2<|end|>", True)
    assert (pair.chosen, pair.rejected) == ("2<|end|>", "3<|end|>")
    assert text == TextDatum(text="1+1 makes 2")
    (example,) = scored_examples([scored], load_tokenizer(str(tiny_student), template="empty"), 99)
    assert example.lengths == [2]


@pytest.mark.parametrize(
    "record",
    [
        SupervisedDatum(instruction="2+2?", output="4", history=(("1+1?", "2"),)),
        ChatDatum(messages=(*TALK, *TALK)),
        ChatDatum(messages=TALK, tools=(Tool(name="add"),)),
        PreferenceDatum(
            instruction="1+1?",
            chosen=(Message(role="assistant", content="", tool_calls=(ToolCall(name="add"),)),),
            rejected="3",
        ),
    ],
)
def test_a_record_with_turns_or_tools_is_refused_by_its_number(tiny_student, record):
    with pytest.raises(ConfigurationError, match="is 'completion"):
        as_completions([SUPERVISED, record], str(tiny_student))
