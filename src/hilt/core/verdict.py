"""Verdicts: whether a run met its goal, in one word, one sentence and the values that were compared with the goal.

A system has its own rules (`System.judge`): only it knows what its goal means. Whether a run was stopped or cut short is
the same for all systems and is decided here.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from hilt.core.faults import Fault

Kind = Literal["met", "missed", "diverged", "stopped", "no contact", "not judged"]

# Energy has grown so much that speeds are 25 % too high: the loop diverges, whatever ended the run.
DIVERGED_SPEED = 1.25
DIVERGED_ENERGY = 1.0 - 1.0 / DIVERGED_SPEED**2  # as a fraction of the energy at that time

# What stopped a run, by the prefix of the fault's name; every other fault is a limit of that name.
_STOPPED_BY = {
    "other-robot": "the other robot",
    "robot": "the robot",
    "sensor": "the force sensor",
    "device": "a device",
    "dead-man": "the dead-man switch",
    "requested": "a person",
    "lateness": "a late tick",
    "recorder": "the recorder",
    "not-finite": "a value that is not finite",
    "unknown": "an unknown fault",
}


@dataclass(frozen=True)
class Figure:
    """One value of a run and its goal; `words` give both, with units; `label` and `shown` are for tables."""

    metric: str
    value: float
    goal: float
    met: bool
    words: str
    label: str
    shown: str


@dataclass(frozen=True)
class Verdict:
    """The outcome of a run. `sentence` stands alone: it begins with the verdict."""

    kind: Kind
    sentence: str
    figures: tuple[Figure, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"kind": self.kind, "sentence": self.sentence, "figures": [asdict(figure) for figure in self.figures]}


def percent(share: float) -> str:
    """A share as text: 0.0136 becomes "1.36 %"; three digits, at most two decimals."""
    value = 100.0 * share
    if 100.0 <= abs(value) < 1e6:
        return f"{value:.0f} %"
    return f"{value:.3g} %" if abs(value) >= 1.0 else f"{value if abs(value) >= 0.005 else 0.0:.2f} %"


def at_most(metric: str, value: float, goal: float, words: str, label: str, shown: str) -> Figure:
    """A value whose goal is an upper bound."""
    return Figure(metric, float(value), goal, bool(value <= goal), words, label, shown)


def against_goal(figures: Sequence[Figure], note: str = "") -> Verdict:
    """The verdict on values and their goals: met if all are met; missed ones are named first."""
    if not figures:
        return Verdict("not judged", "Not judged: the run has none of the values that its goal is about.")
    missed = [figure for figure in figures if not figure.met]
    ordered = [*missed, *(figure for figure in figures if figure.met)]
    said = "; ".join(figure.words for figure in ordered) + (f"; {note}" if note else "")
    kind: Kind = "missed" if missed else "met"
    return Verdict(kind, f"Goal {kind}: {said}.", tuple(figures))


_WORST_FIRST: tuple[Kind, ...] = ("diverged", "stopped", "no contact", "missed", "not judged", "met")


def of_many(verdicts: dict[int, Verdict]) -> Verdict:
    """One verdict on runs with several seeds: the worst, and how many met their goal."""
    seed, worst = min(verdicts.items(), key=lambda item: _WORST_FIRST.index(item[1].kind))
    met = sum(verdict.kind == "met" for verdict in verdicts.values())
    if met == len(verdicts):
        return Verdict("met", f"Goal met with all {met} seeds.", worst.figures)
    return Verdict(worst.kind, f"Goal met with {met} of {len(verdicts)} seeds. Seed {seed}: {worst.sentence}", worst.figures)


def of(result: Any) -> Verdict:
    """The verdict on a result. A loop that generated energy diverged, whatever ended it; a stop comes before the goal."""
    system = result.system
    judged = Verdict("not judged", "Not judged: this system has no goal.") if system.judge is None else system.judge(result)
    if judged.kind == "diverged":
        stopped = f" It was {_stopped(result)}." if result.fault is not None else ""
        return Verdict("diverged", judged.sentence + stopped, judged.figures)
    if result.fault is not None:
        text = _stopped(result)
        return Verdict("stopped", f"{text[0].upper()}{text[1:]}.", judged.figures)
    if _cut_short(result):
        t = float(result.rows["t"][-1])
        return Verdict("stopped", f"Stopped by an interruption at t = {t:.4g} s, before its end.", judged.figures)
    return judged


def _stopped(result: Any) -> str:
    fault: Fault = result.fault
    begin = next((name for name in _STOPPED_BY if fault.name == name or fault.name.startswith(f"{name}-")), "")
    by = _STOPPED_BY[begin] if begin else f"its {fault.name} limit"
    what = fault.sentence.partition(": ")[2].partition("; ")[0]
    if begin == "other-robot":  # its own message, if there is one
        said = next((note for note in getattr(result, "notes", None) or () if note.startswith("robot ")), what)
        what = said.partition("; ")[0]
    return f"stopped by {by} at t = {fault.t:.4g} s" + (f": {what}" if what else "")


def _cut_short(result: Any) -> bool:
    """Whether the last row is neither the end of the run's time nor a proper end."""
    last, loop = result.rows[-1], result.scenario.loop
    if "done" not in result.rows.dtype.names:  # only the plotted signals of a finished run were kept
        return False
    return not last["done"] and float(last["t"]) < loop.duration - 1.5 * loop.period
