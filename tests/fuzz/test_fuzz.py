"""Mutated scenarios, rigs, settings, forms, recordings and commands: no traceback, no hang, no file left, memory in bounds.

`HILT_FUZZ=100000` runs all of it; a seed that fails is run alone by `python -m tests.fuzz.worker SEED SEED+1`.
"""

import itertools
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import pytest

from tests.fuzz.worker import MEMORY

pytestmark = pytest.mark.long

INPUTS = int(os.environ.get("HILT_FUZZ", "1000"))
WORKERS = 2
MOST = 5000  # inputs for one process
ROOT = Path(__file__).parents[2]
OUTCOMES = {"scenario", "text", "settings", "extreme", "rig", "form", "recording", "command"}


@dataclass(frozen=True)
class Worker:
    process: subprocess.Popen[bytes]
    said: IO[str]
    errors: IO[str]


def start(first: int, last: int) -> Worker:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    arguments = [sys.executable, "-m", "tests.fuzz.worker", str(first), str(last)]
    # Files, not pipes: the output of the second worker is only read after the first has ended, and a full pipe would block it.
    said, errors = (tempfile.TemporaryFile("w+", errors="replace") for _ in range(2))  # noqa: SIM115  (closed by finish)
    return Worker(subprocess.Popen(arguments, stdout=said, stderr=errors, cwd=ROOT, env=environment), said, errors)


def finish(worker: Worker) -> tuple[list[dict], int | None, str]:
    """The output of a worker, and the seed that killed it, if one did."""
    code = worker.process.wait()
    texts = []
    for file in (worker.said, worker.errors):
        file.seek(0)
        texts.append(file.read())
        file.close()
    said = [json.loads(line) for line in texts[0].splitlines() if line.startswith("{")]
    last = next((each["start"] for each in reversed(said) if "start" in each), -1)
    return said, None if code == 0 else last, texts[1]


def ranges() -> list[tuple[int, int]]:
    """Ranges of seeds; the last one is run next. A new combination of blocks is compiled, and that code stays in the process:
    ten thousand inputs leave hundreds of megabytes of it."""
    count = -(-INPUTS // MOST)
    edges = [round(INPUTS * part / count) for part in range(count + 1)]
    return [*itertools.pairwise(edges)][::-1]


def test_mutated_input_ends_in_a_result_or_in_one_sentence():
    waiting, running = ranges(), []
    outcomes: Counter[str] = Counter()
    failures, memory = [], 0
    while waiting or running:
        while waiting and len(running) < WORKERS:
            first, last = waiting.pop()
            running.append((last, start(first, last)))
        last, worker = running.pop(0)
        said, died, errors = finish(worker)
        failures += [f"seed {each['seed']}:\n{each['error']}" for each in said if "error" in each]
        for each in said:
            outcomes.update(each.get("outcomes", {}))
            memory = max(memory, each.get("memory", 0))
        if died is not None:
            failures.append(f"seed {died} ended its process ({worker.process.returncode}):\n{errors[-3000:]}")
            assert died >= 0, failures[-1]
            if died + 1 < last:
                waiting.append((died + 1, last))
        assert len(failures) < 50, "\n".join(failures)
    print(dict(outcomes), f"{memory / 1e6:.0f} MB")
    assert not failures, "\n".join(failures)
    assert sum(outcomes.values()) == INPUTS
    assert {each.partition(":")[0] for each in outcomes} == OUTCOMES
    taken = sum(count for each, count in outcomes.items() if each.endswith((" ran", " faulted")))
    assert taken > 0.1 * INPUTS  # not everything is refused at once
    assert memory < MEMORY
