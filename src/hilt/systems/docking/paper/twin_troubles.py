"""Method twin: what goes wrong in a laboratory, one trouble at a time, and what each costs.

Guarded, n = 5, 0.5 N of noise, priors wrong as in all runs; five robots. Friction needs six degrees of freedom.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from hilt.systems.docking.goal import Goal
from hilt.systems.docking.paper import twin_runs, twin_six_runs
from hilt.systems.docking.paper.twin_runs import Robot, prior_errors, pure, second_order
from hilt.systems.docking.paper.twin_six_runs import GEOMETRIES, Geometry

ROBOTS = [pure(20), pure(40), second_order(40, 0, 0.5), second_order(40, 0, 1.0), second_order(40, 24, 1.0)]


@dataclass(frozen=True)
class Trouble:
    """One imperfection of the laboratory."""

    name: str
    settings: tuple[str, ...] = ()
    six: bool = False
    errors: Callable[[int], dict[str, float]] = prior_errors
    why: str = ""  # what causes the error in speed or force


def _three_millimetres(seed: int) -> dict[str, float]:
    return {**prior_errors(seed), "surface_error": 3.0 * prior_errors(seed)["surface_error"]}


def _three_times(seed: int) -> dict[str, float]:
    return {**prior_errors(seed), "stiffness_error": 2.0 if seed % 2 else 1.0 / 3.0 - 1.0}


MOVED = "at the first touch of a moved frame the controller still assumes its old position"
BENDS = "the robot yields under the force, and the twin corrects only part of that"
FIRST = "the error is larger than the rehearsal of the clock covers; it affects first touches, not later ones"
LATE = "the force across the normal is passed on as measured, hence late"
UNKNOWN_COMPLIANCE = "prior.compliance_error=-1"
TROUBLES = [
    Trouble("nothing"),
    Trouble("sensor bias 1 N", ("sensor.bias=[1, 0, 0]",)),
    Trouble("sensor bias -1 N", ("sensor.bias=[-1, 0, 0]",)),
    Trouble("sensor bias 10 N", ("sensor.bias=[10, 0, 0]",)),
    Trouble("sensor drift 0.2 N/s", ("sensor.drift=[0.2, 0, 0]",)),
    Trouble("drop-outs in 2 % of the ticks", ("sensor.dropout=0.02",)),
    Trouble("drop-outs in 10 % of the ticks", ("sensor.dropout=0.1",)),
    Trouble("frames move by 0.2 mm", ("frames.shift=0.2 mm",), why=MOVED),
    Trouble("frames move by -0.2 mm", ("frames.shift=-0.2 mm",), why=MOVED),
    Trouble("frames move by 1 mm", ("frames.shift=1 mm",), why=MOVED),
    Trouble(
        "start from rest",
        ("robot.start_at_rest=true",),
        why="the robot is still catching up with the motion at the first touch",
    ),
    Trouble("robot of 10 N/µm, known to the controller", ("robot.stiffness=10 N/um",), why=BENDS),
    Trouble("robot of 10 N/µm, not known", ("robot.stiffness=10 N/um", UNKNOWN_COMPLIANCE), why=BENDS),
    Trouble("robot of 2 N/µm, known to the controller", ("robot.stiffness=2 N/um",), why=BENDS),
    Trouble("robot of 2 N/µm, not known", ("robot.stiffness=2 N/um", UNKNOWN_COMPLIANCE), why=BENDS),
    Trouble(
        "sensor delay 2 ms, assumed 10 % too long",
        ("sensor.delay=2 ms", "compensate.sensor_delay=2.2 ms"),
        why="it looks like damping and is taken for damping",
    ),
    Trouble("sensor delay 2 ms, assumed 10 % too short", ("sensor.delay=2 ms", "compensate.sensor_delay=1.8 ms")),
    Trouble("rear frame 1.8 times as stiff as assumed", ("contact.rear_stiffness_ratio=1.8",), why=FIRST),
    Trouble("stiffness assumed 3 times too large or too small", errors=_three_times, why=FIRST),
    Trouble("positions of the frames wrong by up to 3 mm", errors=_three_millimetres, why=FIRST),
    Trouble("six degrees, nothing", six=True),
    Trouble("six degrees, friction 0.05", ("contact.friction=0.05",), six=True, why=LATE),
    Trouble("six degrees, friction 0.1", ("contact.friction=0.1",), six=True, why=LATE),
    Trouble("six degrees, friction 0.3", ("contact.friction=0.3",), six=True, why=LATE),
]


@dataclass(frozen=True)
class Cost:
    """Worst values over all robots, seeds and collisions."""

    trouble: Trouble
    speed: float  # |CoV - 1|; in six degrees of freedom the error of the final kinetic energy
    force: float  # |CoF - 1|
    later: float  # the same, collisions 3 to 5 only
    slip: float
    fastest: float  # speed of the body relative to the start; ≤ 1 if no energy is made
    command_speed: float
    command_acceleration: float
    faults: int

    @property
    def limits(self) -> tuple[float, float]:
        """Limits of speed and force for every run; in six degrees of freedom the first one is for energy."""
        return 0.015 if self.trouble.six else Goal().cov, Goal().cof

    @property
    def within(self) -> bool:
        """Whether speed and force are within their limits and no run was stopped."""
        speed, force = self.limits
        return self.speed <= speed and self.force <= force and self.faults == 0

    @property
    def energy(self) -> float:
        """Largest relative gain of energy over the start."""
        return self.fastest**2 - 1

    @property
    def makes_energy(self) -> bool:
        return self.fastest > 1 + 1e-9

    @property
    def commands_kept(self) -> bool:
        return self.command_speed <= 1.5 * (1 + 1e-9) and self.command_acceleration <= 5 * (1 + 1e-6)


def cost(
    trouble: Trouble,
    robots: Sequence[Robot] = ROBOTS,
    seeds: Sequence[int] = twin_runs.SEEDS,
    geometries: Sequence[Geometry] = GEOMETRIES,
) -> Cost:
    if trouble.six:
        six = twin_six_runs.run(*trouble.settings, robots=robots, geometries=geometries, seeds=seeds, errors=trouble.errors)
        kept = six.kept
        return Cost(
            trouble,
            six.energy_error,
            six.worst,
            float(np.abs(six.cof[:, 2:] - 1).max()),
            six.slip,
            math.sqrt(kept.energy),
            kept.command_speed,
            kept.command_acceleration,
            six.faults,
        )
    runs = twin_runs.run(*trouble.settings, robots=robots, seeds=seeds, errors=trouble.errors)
    return Cost(
        trouble,
        *runs.worst,
        float(np.abs(runs.cof[:, :, 2:] - 1).max()),
        runs.slip,
        runs.speed,
        runs.command_speed,
        runs.command_acceleration,
        runs.faults,
    )
