"""A small student chooses how to be trained on a puzzle at test time, and RestEM what helps (SEAL).

Pocket few-shot: for each puzzle, the student writes JSON with the augmentations of its grids
and the training, is trained so, and solves it. The same as `dataenvgym adapt
experiment=seal_few_shot_pocket`, in Python; then what it chose. Options: contexts, seed.
"""

import sys
from collections import Counter

from dataenvgym.adaptation.running import run_adaptation
from dataenvgym.domains.few_shot.augmentations import read_self_edit
from dataenvgym.storage import read_json

contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 24
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
options = [f"arms.contexts={contexts}", f"rest_em.contexts={contexts}", f"seed={seed}"]
done = run_adaptation(["experiment=seal_few_shot_pocket", *options])

for figures in done.report.arms:
    print(f"{figures.arm:14} {(figures.adapter or figures.base).mean:.3f}")
for arm in read_json(done.directory / "results.json")["results"]:
    choices = [read_self_edit(edit["text"]) for edit in arm["edits"] if edit["text"]]
    if choices:
        groups = Counter(group for choice in choices for group in choice.data_generation.groups)
        epochs = sum(choice.training.num_train_epochs for choice in choices) / len(choices)
        print(f"\n{arm['arm']}: {epochs:.1f} epochs; {dict(groups)} of {len(choices)} edits")
