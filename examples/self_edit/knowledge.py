"""A small student writes self-edits of passages, and RestEM keeps what taught it most (SEAL).

Pocket knowledge: the student reads about made-up people, is trained on what it wrote about one, and
answers without the passage. The same as `dataenvgym adapt experiment=seal_knowledge_pocket`, in
Python; then what it wrote about one person, before and after RestEM. Options: contexts, seed.
"""

import sys

from dataenvgym.adaptation.running import run_adaptation
from dataenvgym.storage import read_json

contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 20
seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
options = [f"arms.contexts={contexts}", f"rest_em.contexts={contexts}", f"seed={seed}"]
done = run_adaptation(["experiment=seal_knowledge_pocket", *options])

for figures in done.report.arms:
    print(f"{figures.arm:14} {(figures.adapter or figures.base).mean:.3f}")
for arm in read_json(done.directory / "results.json")["results"]:
    if arm["arm"] in ("self_edits", "rest_em_2"):
        edit = arm["edits"][0]
        print(f"\n{arm['arm']} (right: {edit['accuracies']})\n{edit['text']}")
