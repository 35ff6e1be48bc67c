"""Do two strategies differ? A small study in Python: two strategies, three seeds, in processes.

The same on the command line, with real sizes:

    dataenvgym study agent=random,skill_list "seed=range(10)" predictor.threads=1

Options: seeds, iterations.
"""

import sys

from dataenvgym import run_study

seeds = sys.argv[1] if len(sys.argv) > 1 else "range(3)"
iterations = int(sys.argv[2]) if len(sys.argv) > 2 else 2
results = run_study(
    [
        "agent=random,skill_list",
        f"seed={seeds}",
        "task.n_validation=100",
        "task.n_test=100",
        f"episode.iterations={iterations}",
        "agent.records_per_iteration=60",
        "predictor.threads=1",
    ],
    name="example",
    bounds=False,
)
for strategy in results.tasks[0].strategies:
    gain = strategy.measures["test_gain"]
    print(f"{strategy.name}: test gain {gain.mean:+.3f}, 95% {gain.low:+.3f} to {gain.high:+.3f}")
    if strategy.comparisons:
        compared = strategy.comparisons["test_gain"]
        print(f"  against {results.baseline}: {compared.difference.mean:+.3f}, p {compared.p:.3f}")
