"""The same computation in C++: compile it, feed it the numbers of a bench, and read its time and its final numbers."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core.system import Bench

Numbers = dict[str, np.ndarray]

HERE = Path(__file__).parent
# No contraction: a fused multiply-add rounds once where hilt rounds twice. g++ 12 fuses even so when it vectorises straight
# lines of code, so the build whose results are compared does not vectorise it; the time is that of the faster build.
FLAGS = ["-std=c++17", "-O3", "-march=native", "-ffp-contract=off"]
COMPARED = "-fno-tree-slp-vectorize"


def numbers_of(records: np.ndarray, prefix: str) -> Iterator[tuple[str, np.ndarray]]:
    """Return every number of a record by dotted name."""
    for name in records.dtype.names:
        part = np.asarray(records[name])
        if part.dtype.names:
            yield from numbers_of(part, f"{prefix}.{name}")
        else:
            yield f"{prefix}.{name}", part.ravel().astype(float)


def numbers_of_bench(bench: Bench) -> Numbers:
    return {name: value for key in ("row", "x", "w", "p") for name, value in numbers_of(getattr(bench, key), key)}


class Cpp:
    """The program made from `source`: `ns(cycles)` runs it, `last` has its final numbers."""

    def __init__(self, source: str, folder: Path, given: Numbers) -> None:
        self._numbers = folder / "numbers.txt"
        lines = (f"{name} {len(values)} {' '.join(map(repr, values.tolist()))}\n" for name, values in given.items())
        self._numbers.write_text("".join(lines))
        self._compared, self._vectorised = folder / "compared", folder / "vectorised"
        for program, extra in ((self._compared, [COMPARED]), (self._vectorised, [])):
            subprocess.run(["g++", *FLAGS, *extra, HERE / source, "-o", program], check=True)
        self.last: Numbers = {}

    def ns(self, cycles: int) -> float:
        """Return the nanoseconds per tick or step."""
        compared, vectorised = self._run(self._compared, cycles), self._run(self._vectorised, cycles)
        self.last = {name: np.array(values) for name, values in compared["last"].items()}
        return min(compared["ns"], vectorised["ns"])

    def _run(self, program: Path, cycles: int) -> dict[str, Any]:
        answer = subprocess.run([program, self._numbers, str(cycles)], check=True, capture_output=True, text=True)
        result: dict[str, Any] = json.loads(answer.stdout)
        return result


def _block(name: str) -> str:
    return ".".join(name.split(".")[:2]) if name.startswith(("x.", "w.")) else ""


def difference(expected: Numbers, found: Numbers) -> float:
    """Return the largest relative difference; a vector is one quantity, non-finite numbers differ.

    Joules of ports and observers are small differences of large ones, so they count against the bodies' energy.
    """
    energy = expected["row.H"] + expected["row.H_rot"]
    worst = [0.0]
    blocks = {_block(name) for name in expected}
    for name, values in found.items():
        if _block(name) not in blocks:  # C++ has all blocks, a diagram those of its scenario
            continue
        joules = name.endswith((".into", ".out")) or name.startswith("row.E_")
        scale = energy.max() if joules else np.abs(expected[name]).max()
        away = np.abs(expected[name] - values).max()
        worst.append(float(away / scale) if away else 0.0)
    return float(np.max(worst))
