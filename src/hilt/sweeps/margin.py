"""Margins before a run: how far a scenario is from its edges, what its metrics depend on, and which method is advised."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from hilt import job
from hilt.core.faults import InputError
from hilt.report.words import si
from hilt.sweeps import critical, edges, sensitivity
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.critical import Critical, Found
from hilt.sweeps.edges import Vital
from hilt.sweeps.maps import number_of
from hilt.sweeps.sensitivity import Sensitivity, Uncertain


@dataclass(frozen=True)
class Margin:
    """`edge` is where the loop fails, `goal` where it misses the goal of the scenario."""

    edge: Found
    goal: Found | None
    advice: str
    sobol: Sensitivity | None
    engine: str
    runs: int

    @property
    def sentence(self) -> str:
        """The nearest edge, in words."""
        if self.edge.beyond:
            return f"This scenario is beyond its edge ({named(self.edge)})."
        near = [each for each in self.edge.keys if each.margin is not None]
        if not near:
            from_zero = [f"{each.key} = {si(each.value, each.unit)}" for each in self.edge.keys if each.value is not None]
            if from_zero:  # the distance cannot be given as a factor
                return f"The only edge ({named(self.edge)}) is at {' or '.join(from_zero)}, which is 0 now."
            return f"No edge ({named(self.edge)}) within the ranges that were searched."
        nearest = min(near, key=_ratio)
        return f"The nearest edge ({named(self.edge)}) is {nearest.key}: {_distance(nearest)}."

    def as_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {
            "limits": [limit.text for limit in self.edge.limits],
            "beyond": self.edge.beyond,
            "critical": {each.key: each.as_json() for each in self.edge.keys},
            "goal": None,
            "sentence": self.sentence,
            "advice": self.advice,
            "sobol": self.sobol and self.sobol.as_json(),
            "measure": self.sobol.sentence if self.sobol else "",
            "engine": self.engine,
            "runs": self.runs,
        }
        if self.goal is not None:
            found["goal"] = {
                "limits": [limit.text for limit in self.goal.limits],
                "missed": self.goal.beyond,
                "critical": {each.key: each.as_json() for each in self.goal.keys},
            }
        return dict(job.plain(found))


def named(found: Found) -> str:
    return " or ".join(limit.meaning for limit in found.limits)


def _ratio(each: Critical) -> float:
    """Return the factor, up or down, that is left to the edge."""
    assert each.value is not None
    return max(each.value / each.now, each.now / each.value) if each.value > 0.0 else float("inf")


def _distance(each: Critical) -> str:
    assert each.margin is not None
    return f"{100 * abs(each.margin):.0f} % {'above' if each.margin > 0 else 'below'} its value"


@dataclass(frozen=True)
class Question:
    """What to compute; a field left empty is the system's own choice."""

    limits: tuple[Limit, ...] = ()
    keys: tuple[str, ...] = ()
    uncertain: Mapping[str, Uncertain] | None = None
    metrics: tuple[str, ...] = ()
    samples: int = sensitivity.SAMPLES  # 0: no indices
    advice: bool = True


def find(batch: Batch, question: Question) -> Margin:
    system, base = batch.system, batch.base
    if question.samples:
        sensitivity.check(question.samples)
    vital = _vital(batch, question.keys)
    limits = question.limits or edges.limits(system, base)
    goals = () if question.limits else edges.goals(system, base)
    found = critical.find(batch, vital, limits, *([goals] if goals else []))
    sobol = None
    metrics = list(question.metrics) or edges.metrics(system, base)
    uncertain = question.uncertain or _defaults(batch, vital)
    if question.samples and metrics and uncertain:
        sobol = sensitivity.indices(batch, uncertain, metrics, question.samples)
    advice = edges.advice(system, base) if question.advice else ""
    return Margin(found[0], found[1] if goals else None, advice, sobol, batch.engine.name, batch.runs)


def _vital(batch: Batch, keys: tuple[str, ...]) -> list[Vital]:
    own = {each.key: each for each in edges.vital(batch.system, batch.base)}
    if not keys:
        if not own:
            raise InputError(f"{batch.system.name} lists no keys to vary; give some with --key, such as --key loop.period")
        return list(own.values())
    return [own[key] if key in own else _around(batch, key) for key in keys]


def _around(batch: Batch, key: str) -> Vital:
    value = number_of(batch.base, key)
    if not value > 0.0:
        raise InputError(
            f"{key} is {value:g}; critical values are searched for by ratios, which need a value above 0; set one", key=key
        )
    return edges.around(key, value)


def _defaults(batch: Batch, vital: list[Vital]) -> dict[str, Uncertain]:
    """± 10 % of every measured key that is not 0."""
    values = {each.key: number_of(batch.base, each.key) for each in vital if not each.chosen}
    return {key: sensitivity.within(value) for key, value in values.items() if value > 0.0}
