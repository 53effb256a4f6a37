"""Mutated scenarios, rigs, settings, forms, recordings and commands: no traceback, no hang, no file left, memory in bounds.

`HILT_FUZZ=100000` is the whole; a seed that fails is run alone by `python -m tests.fuzz.worker SEED SEED+1`.
"""

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.worker import MEMORY

INPUTS = int(os.environ.get("HILT_FUZZ", "5000"))
WORKERS = 2
ROOT = Path(__file__).parents[2]
OUTCOMES = {"scenario", "text", "settings", "extreme", "rig", "form", "recording", "command"}


def start(first: int, last: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", "tests.fuzz.worker", str(first), str(last)]
    return subprocess.Popen(
        arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT, env=environment, errors="replace"
    )


def finish(worker: subprocess.Popen[str]) -> tuple[list[dict], int | None, str]:
    """What a worker said, and the seed that ended it before its end, if one did."""
    out, errors = worker.communicate()
    said = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    last = next((each["start"] for each in reversed(said) if "start" in each), -1)
    return said, None if worker.returncode == 0 else last, errors


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="runs whole systems")
def test_mutated_input_ends_in_a_result_or_in_one_sentence():
    edges = [round(INPUTS * part / WORKERS) for part in range(WORKERS + 1)]
    waiting = [(first, last, start(first, last)) for first, last in itertools.pairwise(edges)]
    outcomes: Counter[str] = Counter()
    failures, memory = [], 0
    while waiting:
        _, last, worker = waiting.pop(0)
        said, died, errors = finish(worker)
        failures += [f"seed {each['seed']}:\n{each['error']}" for each in said if "error" in each]
        for each in said:
            outcomes.update(each.get("outcomes", {}))
            memory = max(memory, each.get("memory", 0))
        if died is not None:
            failures.append(f"seed {died} ended its process ({worker.returncode}):\n{errors[-3000:]}")
            assert died >= 0, failures[-1]
            if died + 1 < last:
                waiting.append((died + 1, last, start(died + 1, last)))
        assert len(failures) < 50, "\n".join(failures)
    print(dict(outcomes), f"{memory / 1e6:.0f} MB")
    assert not failures, "\n".join(failures)
    assert sum(outcomes.values()) == INPUTS
    assert {each.partition(":")[0] for each in outcomes} == OUTCOMES
    taken = sum(count for each, count in outcomes.items() if each.endswith((" ran", " faulted")))
    assert taken > 0.1 * INPUTS  # not everything is refused at the door
    assert memory < MEMORY
