"""A language model teaches: it sees the student's errors and writes the records.

    python examples/llm_teacher.py teacher=openai teacher.model=NAME    # with OPENAI_API_KEY set
    python examples/llm_teacher.py teacher=vllm teacher.model=NAME teacher.base_url=URL
    python examples/llm_teacher.py

Without arguments the pocket student is its own teacher, in a vLLM server that this program starts
and that enforces JSON (`dataenvgym external install vllm`, once). The student has never seen an
instruction, so its records have the right form but no meaning, and the score does not rise.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.errors import ConfigurationError, ExternalError
from dataenvgym.runs import config as configuration

ITSELF = [
    "teacher=student",
    "predictor=vllm",
    "predictor.max_model_len=1024",
    "+predictor.options.structured_outputs_config.backend=xgrammar",
    "+predictor.options.structured_outputs_config.disable_any_whitespace=true",
    "task.n_validation=100",
    "task.n_test=100",
    "agent.records_per_iteration=16",
    "agent.engine.batch_size=1",
    "agent.engine.examples_per_request=1",
    "agent.engine.exact_schema=true",
    "agent.engine.max_length=20",
    "agent.engine.max_tokens=100",
]


def main(overrides: list[str]) -> None:
    config = configuration.compose(
        ["agent=open_ended", "agent/engine=llm", "episode.iterations=2", *overrides]
    )
    student = configuration.build_predictor(config)
    teacher = configuration.build_teacher(config, student)
    summary = run_episode(
        configuration.build_environment(config, predictor=student, teacher=teacher),
        configuration.build_agent(config, teacher=teacher),
        iterations=config.episode.iterations,
    )
    for i in summary.iterations:
        print(f"{i.iteration}: {i.n_records} records, validation {i.val_score:.3f}")
    print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")
    print(f"teacher: {teacher.usage}")


if __name__ == "__main__":
    try:
        main(sys.argv[1:] or ITSELF)
    except (ConfigurationError, ExternalError) as error:
        sys.exit(f"{error}\n{__doc__}")
