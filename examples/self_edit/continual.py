"""A student learns about people one after another, and is asked about earlier ones again.

After each person, the adapter is merged into the student, or stacked on the earlier ones, without
replay and with eight earlier records. The last rows of the matrices show what is left.
The same as `dataenvgym adapt --continual task=pocket_knowledge`. Options: contexts, sequences.
"""

import sys

from rich.console import Console

from dataenvgym.adaptation import run_adaptation
from dataenvgym.runs.documents import show

contexts = int(sys.argv[1]) if len(sys.argv) > 1 else 6
sequences = int(sys.argv[2]) if len(sys.argv) > 2 else 3
done = run_adaptation(
    [
        "task=pocket_knowledge",
        f"arms.contexts={contexts}",
        "arms.replays=[0,8]",
        f"seeds={sequences}",
        "trainer.learning_rate=0.005",
        "trainer.num_train_epochs=10",
        "trainer.per_device_train_batch_size=8",
    ],
    continual=True,
)
show(done.report.document(), Console())
