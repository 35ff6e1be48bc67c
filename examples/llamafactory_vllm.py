"""Real LLaMA-Factory trains, real vLLM serves: the pocket student, on a CPU, in a few minutes.

The same as `dataenvgym run trainer=llama_factory predictor=vllm trainer.threads=1`, in Python.
Needs `dataenvgym external install llamafactory` and `... vllm`, once. Option: iterations.
"""

import sys

from dataenvgym import run_episode
from dataenvgym.events import hearing_progress
from dataenvgym.runs.config import build_agent, build_environment, compose
from dataenvgym.students.predictors import VllmPredictor
from dataenvgym.students.trainers import LlamaFactoryTrainer

if __name__ == "__main__":
    iterations = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    # one process that has imported LLaMA-Factory forks a child for each training ...
    trainer = LlamaFactoryTrainer(threads=1, num_train_epochs=3.0)
    # ... and the server keeps running while it loads one adapter after the other
    student = VllmPredictor("pocket", trainer)
    config = compose(["agent.records_per_iteration=200", "task.n_validation=200"])
    with hearing_progress(print):
        summary = run_episode(
            build_environment(config, predictor=student), build_agent(config), iterations=iterations
        )
    for iteration in summary.iterations:
        seconds = {k: round(v, 1) for k, v in iteration.seconds.items() if v > 0.05}
        print(f"{iteration.iteration}: validation {iteration.val_score:.3f}, seconds {seconds}")
    print(f"test {summary.test_score_before:.3f} -> {summary.test_score_after:.3f}")
