"""Trials by the thousand, on all cores at idle priority: one line a trial in a file, from which a campaign goes on.

dry-lab 17 ok done | lose robot>hilt 1.5 0.1 0.3
dry-lab 18 WRONG robot-silent | cable robot 1.6 0.2 | robot: 1 hard stops
"""

import multiprocessing
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hilt.lab.trials.run import run as run_trial
from hilt.lab.trials.schedule import read, written
from hilt.lab.trials.shrink import Faults, shrunk
from hilt.lab.trials.trial import labs as shipped

LINE = re.compile(
    r"(?P<lab>\S+) (?P<seed>\d+) (?P<verdict>ok|WRONG) (?P<ends>\S*) \| (?P<faults>[^|]*?)(?: \| (?P<wrong>.*))?$"
)
A_WORKER = 300  # trials, after which its process is replaced: compiled code of ever new scenarios stays in it


class Line(NamedTuple):
    """A trial in the file of a campaign."""

    lab: str
    seed: int
    wrong: str  # empty if every law holds
    ends: str
    faults: str

    def __str__(self) -> str:
        verdict = "WRONG" if self.wrong else "ok"
        parts = [f"{self.lab} {self.seed} {verdict} {self.ends}", self.faults, *([self.wrong] if self.wrong else [])]
        return " | ".join(parts)


def lines_of(path: Path) -> list[Line]:
    """Return the trials that a campaign has already made; a line that was cut off does not count."""
    if not path.exists():
        return []
    found = [LINE.match(line) for line in path.read_text().splitlines()]
    return [Line(m["lab"], int(m["seed"]), m["wrong"] or "", m["ends"], m["faults"]) for m in found if m is not None]


def one(job: tuple[str, int]) -> Line:
    """Make one trial."""
    name, seed = job
    outcome = run_trial(shipped()[name], seed)
    wrong = " / ".join(" ".join(each.split())[:300] for each in outcome.wrong).replace("|", "¦")
    return Line(name, seed, wrong, ",".join(outcome.ends) or "-", written(outcome.faults))


def run(labs: Sequence[str], seeds: Iterable[int], path: Path, workers: int | None = None) -> Iterator[Line]:
    """Make all trials that the file does not have yet; yields each when it is in the file."""
    known = {(line.lab, line.seed) for line in lines_of(path)}
    jobs = [(lab, seed) for seed in seeds for lab in labs if (lab, seed) not in known]
    path.parent.mkdir(parents=True, exist_ok=True)
    context = multiprocessing.get_context("spawn")
    cut = path.exists() and not path.read_bytes().endswith(b"\n")
    with path.open("a") as file, context.Pool(workers, maxtasksperchild=A_WORKER) as pool:
        file.write("\n" if cut else "")
        for line in pool.imap_unordered(one, jobs):
            file.write(f"{line}\n")
            file.flush()
            yield line


def smaller(lab: str, seed: int, faults: Faults) -> Faults:
    """Return the smallest schedule that breaks the same law in this lab."""

    def law(sentences: list[str]) -> set[str]:
        return {re.sub(r"[\d.e+-]+", "#", sentence.split("\n")[0])[:60] for sentence in sentences}

    broken = law(run_trial(shipped()[lab], seed, faults).wrong)
    fails: Callable[[Faults], bool] = lambda less: bool(broken & law(run_trial(shipped()[lab], seed, less).wrong))  # noqa: E731
    return shrunk(faults, fails) if broken else faults


def table(lines: Iterable[Line]) -> str:
    """Return how the trials ended, by lab and by kind of fault, as text."""
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for line in lines:
        kinds = {fault.kind for fault in read(line.faults)} or {"nothing"}
        first = line.ends.split(",")[0]
        for group in (("lab", line.lab), *(("fault", kind) for kind in sorted(kinds))):
            count = rows[group]
            count["trials"] += 1
            count["WRONG"] += bool(line.wrong)
            count[
                "done" if first == "done" else "killed" if first == "-" else "refused" if first == "refused" else "stopped"
            ] += 1
            if first not in ("done", "-", "refused"):
                rows[("end", first)]["trials"] += group[0] == "lab"
                rows[("end", first)]["WRONG"] += bool(line.wrong) and group[0] == "lab"
    names = ("trials", "done", "stopped", "refused", "killed", "WRONG")
    text = [f"{'':24}" + "".join(f"{name:>9}" for name in names)]
    for (kind, name), count in sorted(rows.items(), key=lambda row: (("lab", "fault", "end").index(row[0][0]), row[0][1])):
        text.append(f"{kind:6} {name:<17}" + "".join(f"{count[each] or '':>9}" for each in names))
    return "\n".join(text)
