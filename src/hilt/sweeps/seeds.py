"""The same scenario with many seeds: means of metrics and ledger, the worst of each metric, and the runs with faults."""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt import job, preflight
from hilt.core import missing, verdict
from hilt.core.faults import Fault, InputError, shortened
from hilt.core.missing import Missing
from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.core.verdict import Verdict
from hilt.job import Result
from hilt.sweeps import results
from hilt.sweeps.batch import tree_of
from hilt.sweeps.space import Axis, Space

MOST = 100_000


@dataclass(frozen=True)
class Summary:
    """Many runs of one scenario; every number is over all of them. `first` is the run with the scenario's own seed."""

    first: Result
    seeds: int
    mean: dict[str, Any]
    worst: dict[str, Any]
    ledger: dict[str, Any]  # mean joules
    faults: dict[int, Fault]  # by seed
    verdict: Verdict

    @property
    def sentence(self) -> str:
        """How many runs ended with a fault, and how the first of them did; empty if none did."""
        if not self.faults:
            return ""
        seed, fault = next(iter(self.faults.items()))
        return f"{len(self.faults)} of {self.seeds} runs ended with a fault; seed {seed} {fault.sentence}"

    def as_json(self) -> dict[str, Any]:
        seed = next(iter(self.faults), None)
        return {
            **self.first.as_json(),
            "verdict": job.plain(self.verdict.as_json()),
            "metrics": job.plain(self.mean),
            "reasons": missing.reasons(self.mean),
            "ledger": job.plain(self.ledger),
            "fault": None if seed is None else {"seed": seed, **job.plain(self.faults[seed].as_json())},
            "worst": job.plain(self.worst),
            "seeds": self.seeds,
            "faulted": list(self.faults),
        }


def check(system: System, values: Scenario, count: int) -> None:
    """Refuse an invalid number of runs, or more than is practical."""
    if not 1 <= count <= MOST:
        raise InputError(f"--seeds is {shortened(str(count))}; it must be from 1 to {MOST}; give a whole number")
    if values.seed + count > 2**63:
        raise InputError(f"seed is {values.seed}; {count} seeds from there exceed 2^63; give a smaller one")
    preflight.check(preflight.estimate(system, values, count, recorded=False))


def run(system: System, values: Scenario, name: str, count: int) -> Summary:
    """Run `count` seeds, starting at the scenario's: a sweep over seeds in which each run has its own ledger and verdict."""
    check(system, values, count)
    first = job.simulate(system, values, name)
    found, ledgers, faults, verdicts = [], [], {}, {}
    for each in itertools.chain([first], _others(system, values, name, count)):
        found.append(each.metrics)
        ledgers.append(each.ledger)
        faults[each.scenario.seed], verdicts[each.scenario.seed] = each.fault, each.verdict
    names = [key for key in system.metric_words if any(key in metrics for metrics in found)]
    gathered = {key: [metrics[key] for metrics in found if key in metrics] for key in names}
    mean = {key: _mean(each) for key, each in gathered.items()}
    worst = {key: _worst(each, key in system.ratios) for key, each in gathered.items()}
    faulted = {seed: fault for seed, fault in faults.items() if fault is not None}
    return Summary(first, count, mean, worst, _mean_ledger(ledgers), faulted, verdict.of_many(verdicts))


def _others(system: System, values: Scenario, name: str, count: int) -> Iterator[Result]:
    """Run the seeds after the first, without keeping their rows, which would fill any memory."""
    later = tuple((seed,) for seed in range(values.seed + 1, values.seed + count))
    if later:
        yield from results.run(Space(system, name, tree_of(values), values, (Axis(("seed",), later),)))


def _mean_ledger(ledgers: list[Any]) -> Any:
    """Average entry by entry; a mean of balances is a balance."""
    first = ledgers[0]
    if isinstance(first, dict):
        return {key: _mean_ledger([each[key] for each in ledgers]) for key in first}
    if isinstance(first, list):
        return [_mean_ledger(list(entries)) for entries in zip(*ledgers, strict=True)]
    return first if isinstance(first, str) else float(np.mean(ledgers))


def _mean(values: list[Any]) -> Any:
    """Average, for lists entry by entry as far as all runs have them; for a yes or no: whether it happened at all."""
    if isinstance(values[0], bool):
        return any(values)
    if isinstance(values[0], list):
        length = min(len(each) for each in values)
        return [_mean([each[n] for each in values]) for n in range(length)]
    return _missing(values) or float(np.mean(values))


def _worst(values: list[Any], ratio: bool) -> Any:
    """Return the largest value; for ratios the largest distance from 1."""
    if isinstance(values[0], bool):
        return any(values)
    flat = [number for each in values for number in (each if isinstance(each, list) else [each])]
    return _missing(flat) or max(
        (abs(number - 1.0) if ratio else number for number in flat), default=Missing("no run has such a value")
    )


def _missing(values: list[Any]) -> Missing | None:
    """Say so if some runs lack a value: mean and worst of the others would be misleading."""
    without = [value for value in values if isinstance(value, Missing)]
    if not without:
        return None
    return Missing(f"{len(without)} of {len(values)} are missing: {without[0].reason}", without[0])
