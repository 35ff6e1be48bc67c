"""Students that complete bare texts: asked and trained without a chat template."""

import pickle
from pathlib import Path

import pytest

from dataenvgym.domains.math.pocket import PocketMathTask
from dataenvgym.domains.tool_use.pocket import PocketToolsTask
from dataenvgym.errors import ConfigurationError
from dataenvgym.interfaces import Reply, SamplingParameters, TrainingRun
from dataenvgym.records import Message, SupervisedDatum, TextDatum
from dataenvgym.students.llama_factory import TrainingConfig
from dataenvgym.students.predictors import InProcessPredictor, OpenAIPredictor
from dataenvgym.students.trainers import InProcessTrainer

STOPPED = SamplingParameters(max_tokens=9, stop=("\n",))


def question(text):
    return (Message(role="user", content=text),)


@pytest.fixture(scope="module")
def bare_student(make_student, tmp_path_factory):
    """A student without a chat template."""
    return make_student(tmp_path_factory.mktemp("bare"), chat_template=None)


def completing(student, **options):
    trainer = InProcessTrainer(threads=1, num_train_epochs=40, learning_rate=1e-2)
    return InProcessPredictor(student, trainer, threads=1, format="completion", **options)


def test_without_chat_template_the_error_names_the_option(bare_student):
    with pytest.raises(ConfigurationError, match="no chat"):
        InProcessPredictor(bare_student).predict([question("1")], STOPPED)


@pytest.mark.parametrize(
    "records",
    [
        [SupervisedDatum(instruction=f"Q: {n}\nA:", output=f" it is {n}") for n in range(4)],
        [TextDatum(text=f"Q: {n}\nA: it is {n}\n") for n in range(4)],
    ],
    ids=["completions", "texts"],
)
def test_it_learns_completions_and_texts_and_stops(bare_student, records, tmp_path):
    predictor = completing(bare_student)
    predictor.train(records, TrainingRun(directory=tmp_path))
    assert TrainingConfig.read(tmp_path / "training.yaml").template == "empty"
    asked = [question(f"Q: {n}\nA:") for n in range(4)]
    replies = predictor.predict(asked, STOPPED)
    assert [reply.text for reply in replies] == [f" it is {n}" for n in range(4)]
    assert {reply.finish_reason for reply in replies} == {"stop"}


def test_tools_and_templates_are_refused(bare_student):
    with pytest.raises(ConfigurationError, match="tools or names"):
        PocketToolsTask(n_train=2, n_validation=2, n_test=2).evaluate(completing(bare_student))
    trainer = InProcessTrainer(threads=1)
    trainer.config = trainer.config.with_options(template="llama3")
    with pytest.raises(ConfigurationError, match="llama"):
        InProcessPredictor(bare_student, trainer, format="completion")


def test_a_task_of_one_reply_is_evaluated(bare_student):
    task = PocketMathTask(n_train=4, n_validation=4, n_test=4)
    assert not any(done.error for done in task.evaluate(completing(bare_student)))


def test_servers_get_the_bare_text_and_the_stops(stand_in):
    with stand_in.runs("--model", "gpt", "--served-model-name", "gpt") as url:
        predictor = OpenAIPredictor("gpt", base_url=url, api_key_variable=None, format="completion")
        copy = pickle.loads(pickle.dumps(predictor))
        for one in (predictor, copy):
            assert one.predict([question("Q: 1\nA:")], STOPPED) == [Reply(text="gpt|Q: 1\nA:")]
        talk = (*question("a"), Message(role="assistant", content="b"), *question("c"))
        with pytest.raises(ConfigurationError, match="3 turns"):
            predictor.predict([talk], STOPPED)
        for asked in stand_in.events("ask"):
            assert (asked["prompt"], asked["stop"]) == ("Q: 1\nA:", ["\n"])
            assert "messages" not in asked
        assert predictor.describe()["format"] == "completion"
        predictor.close()
        copy.close()


def test_a_student_in_vllm_completes_the_bare_text(make, stand_in):
    predictor = make(format="completion")
    assert predictor.describe()["format"] == "completion"
    predictor.predict([question("Q: 1\nA:")], STOPPED)
    assert stand_in.events("ask")[-1]["prompt"] == "Q: 1\nA:"


def test_a_server_is_not_started_for_a_student_without_chat_template(make, student):
    (Path(student) / "tokenizer_config.json").write_text('{"eos_token": "</s>"}')
    with pytest.raises(ConfigurationError, match="no chat"):
        make()
