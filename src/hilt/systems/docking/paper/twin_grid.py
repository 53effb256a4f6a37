"""Method twin: the grids of runs that claims and figures share; each is run once.

HILT_SEEDS=20 runs every grid with 20 seeds (10 in six degrees of freedom) in a few minutes; the default is 2 (1).
"""

import functools
import os
from dataclasses import dataclass

import numpy as np

from hilt import job
from hilt.systems.docking.analysis.bound import cof_just_after_tick, touch_of
from hilt.systems.docking.analysis.bound_bending import least_cof, tip_of
from hilt.systems.docking.paper import (
    twin_bending,
    twin_damped,
    twin_effects,
    twin_runs,
    twin_six_runs,
    twin_touches,
    twin_troubles,
)
from hilt.systems.docking.paper.twin_runs import PURE, Runs, scenario
from hilt.systems.docking.paper.twin_six_runs import GEOMETRIES, HARDEST, PURE_20, PURE_40, ROBOTS_20, ROBOTS_40, FirstTouches
from hilt.systems.docking.paper.twin_troubles import TROUBLES, Cost

DELAYS = (10, 20, 30, 40)  # ms, of PURE


@dataclass(frozen=True)
class Size:
    """Size of the grids."""

    robots: int = 28
    seeds: int = int(os.environ.get("HILT_SEEDS", "2"))
    touches: int = 20  # seeds of first touches on one robot
    geometries: int = 4
    troubled: int = 5  # robots
    bending: int = 12  # of 144 robots; with five seeds or more, all of them

    @property
    def every_bending(self) -> int:
        """Stride over the 144 robots; not a divisor of 144, so that a sample covers every stiffness and mode."""
        return 1 if self.seeds >= 5 else 144 // self.bending + 1

    @property
    def every_other(self) -> int:
        return 1 if self.seeds >= 5 else 144 // self.bending // 2

    @property
    def bending_in_space(self) -> int:
        return len(twin_bending.IN_SPACE) if self.seeds >= 5 else max(1, self.bending // 6)

    @property
    def six_seeds(self) -> int:
        return max(1, self.seeds // 2)


SIZE = Size()


def _first(count: int) -> range:
    return range(1, 1 + count)


@functools.cache
def guarded(n: float = 5, noise: float = 0.5, name: str = "table1", *changes: str) -> Runs:
    robots = twin_runs.ROBOTS[: SIZE.robots]
    return twin_runs.run(*changes, robots=robots, seeds=_first(SIZE.seeds), name=name, n=n, noise=noise)


@functools.cache
def realtime(n: float = 5) -> Runs:
    return twin_runs.run(robots=twin_runs.ROBOTS[: SIZE.robots], seeds=_first(SIZE.seeds), mode="realtime", n=n)


@functools.cache
def touches(delay: int, n: float) -> Runs:
    """First touches in real time on a pure delay."""
    robot = PURE[DELAYS.index(delay)]
    return twin_runs.run("collisions=1", robots=[robot], seeds=_first(SIZE.touches), mode="realtime", n=n)


@functools.cache
def touches_by_phase(n: float, noise: float) -> twin_touches.Touches:
    """First touches in real time on 40 ms, over the phases of a tick."""
    return twin_touches.touches(PURE[DELAYS.index(40)], n, noise, _first(SIZE.touches))


@functools.cache
def damped(noise: float) -> twin_damped.Damped:
    """Random damped contacts; always all of them, because the mean of fewer is too noisy."""
    return twin_damped.run(twin_damped.cases(), noise)


@functools.cache
def on_pure_delay(delay: int, method: str, mode: str = "guarded") -> Runs:
    robot = PURE[DELAYS.index(delay)]
    return twin_runs.run(robots=[robot], seeds=_first(SIZE.seeds), method=method, mode=mode)


@functools.cache
def second_order_touches(n: float) -> Runs:
    """First touches in real time on robots with a servo."""
    robots = twin_runs.SECOND_ORDER[: SIZE.robots]
    return twin_runs.run("collisions=1", robots=robots, seeds=_first(max(SIZE.seeds, 5)), mode="realtime", n=n)


@functools.cache
def bending(mode: str) -> Runs:
    """Robots that bend; five seeds are enough for 144 robots."""
    return twin_bending.run(SIZE.every_bending, _first(min(SIZE.seeds, 5)), mode)


@functools.cache
def others(mode: str) -> Runs:
    """Forty other robots that bend."""
    return twin_bending.run_others(40 // SIZE.every_other, _first(min(SIZE.seeds, 5)), mode)


@functools.cache
def bending_in_space() -> twin_six_runs.Runs:
    """Robots that bend in six degrees of freedom."""
    return twin_bending.run_in_space(SIZE.bending_in_space, GEOMETRIES[: SIZE.geometries], _first(min(SIZE.seeds, 5)))


@functools.cache
def effect(name: str) -> Cost:
    """Cost of one effect that is unknown to the controller, on robots that bend."""
    (found,) = [each for each in twin_effects.EFFECTS if each.name == name]
    seeds = _first(SIZE.six_seeds if found.six else min(SIZE.seeds, 5))
    return twin_troubles.cost(found, twin_effects.ROBOTS[: SIZE.troubled], seeds, GEOMETRIES[: SIZE.geometries])


@functools.cache
def effect_on_others(name: str) -> Runs:
    """The same on other robots and seeds."""
    (found,) = [each for each in twin_effects.EFFECTS if each.name == name]
    robots = twin_effects.OTHERS if SIZE.seeds >= 5 else twin_effects.OTHERS[: max(1, SIZE.bending // 6)]
    return twin_runs.run(*found.settings, robots=robots, seeds=twin_effects.OTHER_SEEDS, errors=found.errors)


@functools.cache
def pida() -> Runs:
    return twin_runs.run(robots=twin_runs.ROBOTS[: SIZE.robots], seeds=_first(SIZE.seeds), method="pida")


@functools.cache
def six(which: str) -> twin_six_runs.Runs:
    robots = {"20 ms": ROBOTS_20, "40 ms": ROBOTS_40, "ζ 0.5": HARDEST, "normal": [PURE_20, PURE_40]}[which]
    errors = twin_six_runs.prior_errors_with_normal if which == "normal" else twin_runs.prior_errors
    geometries = GEOMETRIES[: SIZE.geometries]
    return twin_six_runs.run(robots=robots, geometries=geometries, seeds=_first(SIZE.six_seeds), errors=errors)


@functools.cache
def six_touches() -> list[FirstTouches]:
    """Ten phases of the tick, 20 and 40 ms, all geometries."""
    return [
        twin_six_runs.first_touches(robot, geometry)
        for robot in (PURE_20, PURE_40)
        for geometry in GEOMETRIES[: SIZE.geometries]
    ]


@functools.cache
def troubles() -> list[Cost]:
    robots = twin_troubles.ROBOTS[: SIZE.troubled]
    return [
        twin_troubles.cost(each, robots, _first(SIZE.six_seeds if each.six else SIZE.seeds), GEOMETRIES[: SIZE.geometries])
        for each in TROUBLES
    ]


@functools.cache
def trace(method: str, mode: str = "guarded") -> job.Result:
    """One run of the scenario `twin`: 40 ms, noise, wrong priors."""
    return job.simulate(*job.find("docking", "twin", [f"compensate.method={method}", f"compensate.mode={mode}"]))


def bound_of(robot: twin_runs.Robot, n: float) -> float:
    """Lowest possible CoF of a first touch in real time, just after a tick."""
    limit = f"limits.command_acceleration_ratio={n}"
    found = cof_just_after_tick(scenario("table1", "compensate.method=twin", "sensor.noise=0.5 N", limit, *robot))
    assert found is not None, "a linear contact has one"
    return found


@functools.cache
def bending_bounds() -> np.ndarray:
    """The same for the robots of `bending`, whose tips swing."""
    limit = "limits.command_acceleration_ratio=5"
    found = [scenario("table1", "compensate.method=twin", "sensor.noise=0.5 N", limit, *robot) for robot in bending_robots()]
    tips = [(touch_of(values), tip_of(values)) for values in found]
    return np.array([least_cof(touch, tip) for touch, tip in tips if tip is not None])


def bending_robots() -> list[twin_runs.Robot]:
    return twin_bending.ROBOTS[:: SIZE.every_bending]


def bound_at(delay: int, n: float) -> float:
    return bound_of(PURE[DELAYS.index(delay)], n)


def forget() -> None:
    """Clear all cached runs; needed after SIZE is changed."""
    for grid in (
        guarded,
        realtime,
        second_order_touches,
        bending,
        bending_bounds,
        others,
        bending_in_space,
        effect,
        effect_on_others,
        touches,
        touches_by_phase,
        on_pure_delay,
        pida,
        six,
        six_touches,
        troubles,
    ):
        grid.cache_clear()
