"""Fit learning curves to recorded runs.

    python -m dataenvgym.environments.simulation RUN... --output FILE

Curves are first fitted on half of the runs; the table shows their errors on the other half. The
curves in FILE are fitted on all runs.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from dataenvgym.environments.simulation.curves import write_curves
from dataenvgym.environments.simulation.fitting import fit_curves, halves, held_out_errors
from dataenvgym.environments.simulation.recordings import read_trajectories
from dataenvgym.errors import DataEnvGymError


def main(argv: Sequence[str] | None = None) -> int:
    """Fit, print the table, write the file; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m dataenvgym.environments.simulation",
        description=(__doc__ or "").partition("\n\n")[2],
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", type=Path, help="a run directory")
    parser.add_argument("--output", metavar="FILE", type=Path, help="write the curves there")
    parser.add_argument("--seed", type=int, default=0, help="which runs go to which half")
    arguments = parser.parse_args(argv)
    try:
        trajectories = read_trajectories(arguments.runs)
        fitted_on, held_out = halves(trajectories, arguments.seed)
        curves = fit_curves(fitted_on)
        errors = held_out_errors(curves, fitted_on, held_out)
    except DataEnvGymError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    lines = [
        f"{curves.task}: fitted on {len(fitted_on)} runs, tested on {len(held_out)} others; "
        "root mean square error of a skill's accuracy",
        f"{'':20}{'one step':>12}{'trajectory':>12}",
        *(f"{e.prediction:20}{e.one_step:12.4f}{e.trajectory:12.4f}" for e in errors),
    ]
    if arguments.output is not None:
        everything = fit_curves(trajectories)
        write_curves(arguments.output, everything)
        lines += ["", f"{arguments.output}: fitted on all {everything.n_runs} runs"]
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
