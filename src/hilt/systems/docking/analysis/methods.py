"""Simulate every method on one scenario of `docking`."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pydantic import ValidationError

from hilt import job
from hilt.core.scenario import build
from hilt.systems.docking.docking import DOCKING, Docking
from hilt.systems.docking.goal import Goal

METHODS = {
    "none": ("none", "guarded"),
    "pic": ("pic", "guarded"),
    "dac": ("dac", "guarded"),
    "pida": ("pida", "guarded"),
    "twin realtime": ("twin", "realtime"),
    "twin guarded": ("twin", "guarded"),
}  # simplest first
SEEDS = 3  # if the scenario has randomness


def with_method(scenario: Docking, method: str, mode: str = "guarded") -> Docking | None:
    """The scenario with another method; None if that method does not support it."""
    changed = scenario.compensate.model_copy(update={"method": method, "mode": mode})
    try:
        return Docking.model_validate(scenario.model_copy(update={"compensate": changed}).model_dump())
    except ValidationError:
        return None


@dataclass(frozen=True)
class Prediction:
    """A method on a scenario: the metrics of one run for each seed."""

    runs: tuple[dict[str, Any], ...]
    scenario: Docking

    @property
    def goal(self) -> Goal:
        return self.scenario.goal

    @property
    def came_through(self) -> bool:
        return all(not run["diverged"] and len(run["cov"]) == self.scenario.collisions for run in self.runs)

    def _worst(self, name: str, part: slice) -> float:
        found = [value for run in self.runs for value in run[name][part]]
        return float(max(found, key=lambda value: abs(value - 1.0), default=math.nan))

    @property
    def cov(self) -> float:
        """CoV farthest from 1 over all collisions; NaN if none was completed."""
        return self._worst("cov", slice(None))

    @property
    def first_cof(self) -> float:
        """CoF of the first touch."""
        return self._worst("cof", slice(1))

    @property
    def later_cof(self) -> float:
        return self._worst("cof", slice(1, None))

    @property
    def force_error(self) -> float:
        return abs(self._worst("cof", slice(None)) - 1.0)

    @property
    def meets(self) -> bool:
        return self.came_through and abs(self.cov - 1.0) <= self.goal.cov and self.force_error <= self.goal.cof

    @property
    def cost(self) -> float:
        """Errors of speed and force relative to the goals."""
        return abs(self.cov - 1.0) / self.goal.cov + self.force_error / self.goal.cof


def name_of(scenario: Docking) -> str:
    method = scenario.compensate.method
    return f"twin {scenario.compensate.mode}" if method == "twin" else method


def all_methods(scenario: Docking) -> dict[str, Prediction]:
    """Simulate every method that supports the scenario, and the scenario's own, with the robot of the scenario."""
    return dict(_all_methods(scenario.model_dump_json()))


@lru_cache(maxsize=4)
def _all_methods(text: str) -> Mapping[str, Prediction]:
    scenario = build(Docking, json.loads(text))
    chance = scenario.sensor.noise + scenario.encoder.position_noise + scenario.encoder.velocity_noise + scenario.robot.jitter
    seeds = range(scenario.seed, scenario.seed + (SEEDS if chance > 0 else 1))
    found = {}
    for choice, (method, mode) in {
        **METHODS,
        name_of(scenario): (scenario.compensate.method, scenario.compensate.mode),
    }.items():
        changed = with_method(scenario, method, mode)
        if changed is not None:
            runs = (job.simulate(DOCKING, changed.model_copy(update={"seed": seed})).metrics for seed in seeds)
            found[choice] = Prediction(tuple(runs), scenario)
    return found
