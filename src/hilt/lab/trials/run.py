"""Run one trial in a folder of its own, and judge it."""

import shutil
import tempfile
from pathlib import Path

from hilt.lab.trials import invariants
from hilt.lab.trials.schedule import Fault
from hilt.lab.trials.trial import Lab, Outcome, Trial


def run(lab: Lab, seed: int, faults: tuple[Fault, ...] | None = None) -> Outcome:
    """Run one trial, with the faults of its seed or with others."""
    folder = Path(tempfile.mkdtemp(prefix="hilt-trial-"))
    try:
        (folder / "runs").mkdir()
        return Trial(lab, seed, faults, folder).run(invariants.broken)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
