"""The rehearsal at set-up: the first contact of what the controller was told, with this same controller and slower clocks.

The contact may be softer, stiffer or of another kind than told and the robot slower; the largest β whose worst |CoF - 1| over
these is within 0.02 of that of the best β is taken. Nothing is drawn by chance, and nothing of the scenario's truth is used but
its masses and speeds, which the bodies have by definition, and the robot's limits.
"""

import math
from typing import Any

import numpy as np

from hilt.core.faults import InputError

CLOCKS = tuple(1.0 - 0.04 * i for i in range(11))
# Contact, factors of its stiffness and of the robot's delays; of a Hertz contact the secant stiffness at its peak.
CASES = (("hertz", 1.65, 1.1), ("linear", 1.65, 1.1), ("linear", 0.65, 1.0), ("linear", 1.0, 1.0))
GOOD_ENOUGH = 0.02
FLIGHT = 0.25  # s before the contact: the lead is engaged, the clock slows down
LOGGED = 32  # rows
MOST_TICKS = 50_000  # of one case: beyond, the rehearsal would take longer than anybody waits for a run to begin


def peak_depth(kind: str, stiffness: float, scenario: Any) -> float:
    """δ where the body stands still in space: ½ m v² = ½ F δ of a linear contact, 0.4 F δ of a Hertz contact, F = k δ."""
    return float(scenario.approach.speed * math.sqrt(scenario.reduced_mass / stiffness / (0.8 if kind == "hertz" else 1.0)))


def told_scenario(scenario: Any, kind: str, stiffness: float, slower: float) -> Any:
    """A world in which what was told is true but for the factors; the controller is told the same as in the scenario."""
    prior, robot, contact = scenario.prior, scenario.robot, scenario.contact
    told = prior.robot(scenario)
    true_k = prior.stiffness(scenario) * stiffness
    pure = told.t_d * slower
    own = (told.t_d + told.T1) * slower
    sensor = scenario.assumed_sensor_delay
    zeta = 0.5 * told.T1 / math.sqrt(told.T2) if told.T2 > 0 else robot.damping_ratio
    v = scenario.approach.speed
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    n = scenario.limits.command_acceleration_ratio * omega / math.sqrt(true_k / scenario.reduced_mass)
    gap = min(scenario.frames.gap, scenario.rod.radius + v * (FLIGHT + own))
    return scenario.model_copy(
        update={
            "robot": robot.model_copy(
                update={"delay": own + scenario.sensor.delay, "pure_delay": pure, "damping_ratio": zeta, "jitter": 0.0}
            ),
            "contact": contact.model_copy(
                update={
                    "kind": kind,
                    "stiffness": true_k,
                    "hertz_coefficient": true_k / math.sqrt(peak_depth(kind, true_k, scenario)),
                    "damping": 0.0,
                    "rear_stiffness_ratio": 1.0,
                    "friction": 0.0,
                }
            ),
            "frames": scenario.frames.model_copy(update={"gap": gap}),
            "prior": prior.model_copy(
                update={
                    "stiffness_error": 1.0 / stiffness - 1.0,
                    "delay_error": 1.0 / slower - 1.0,
                    "frequency_error": slower - 1.0,
                    "damping_error": 0.0,
                    "surface_error": 0.0,
                }
            ),
            "compensate": scenario.compensate.model_copy(update={"mode": "realtime", "sensor_delay": sensor}),
            "limits": scenario.limits.model_copy(update={"command_acceleration_ratio": n}),
            "collisions": 1,
            "loop": scenario.loop.model_copy(update={"duration": 2.0 * (FLIGHT + own) + 4.0 / omega}),
        }
    )


def check_length(told: Any) -> None:
    """Refuse a first contact that takes more ticks than can be rehearsed."""
    ticks = told.loop.duration / told.loop.period
    if not ticks <= MOST_TICKS:
        raise InputError(
            f"compensate.mode is 'guarded', whose rehearsal of the first contact would take {ticks:.3g} ticks of loop.period, "
            f"{told.loop.period:g} s; at most {MOST_TICKS} are rehearsed; lengthen it or set compensate.mode = 'realtime'"
        )


class Rehearsal:
    """One case, ready to be run with any clock; noise is left out, doubts about it are not."""

    def __init__(self, system: Any, told: Any, kind: str) -> None:
        check_length(told)
        self._bench = system.set_up(told)
        self._batch = self._bench.code.batch
        p = self._bench.p[0]
        p.sensor.noise = p.encoder.position_noise = p.encoder.velocity_noise = 0.0
        self._ideal = told.contact.stiffness * peak_depth(kind, told.contact.stiffness, told)
        self._log = np.zeros(LOGGED, system.row)
        self._first = [part.view(np.uint8) for part in (self._bench.row, self._bench.x, self._bench.w)]
        self._parts = [part.copy() for part in (self._bench.row, self._bench.x, self._bench.w)]

    def error(self, clock: float) -> float:
        """|CoF - 1| of the first contact; the log is a small one that is written again and again."""
        for part, first in zip(self._parts, self._first, strict=True):
            part.view(np.uint8)[:] = first
        self._bench.p[0].twin_clock.guarded = clock
        peak = 0.0
        for _ in range(0, self._bench.ticks, LOGGED):
            self._batch(*self._parts, self._bench.p, self._log)
            size = np.abs(self._log["F_C_true_W"][:, 0])
            peak = max(peak, float(size.max()))
            if size[-1] < 0.9 * peak:
                break
        return abs(peak / self._ideal - 1.0)


def _slow(scenario: Any) -> bool:
    """A contact that lasts so long beside all delays that real time is enough, and that takes too many ticks to rehearse it."""
    omega = math.sqrt(scenario.prior.stiffness(scenario) / scenario.reduced_mass)
    late = scenario.prior.robot(scenario).lag + scenario.assumed_sensor_delay
    return omega * late < 0.01 and 4.0 / omega > 0.5 * MOST_TICKS * scenario.loop.period


def rehearsed_clock(system: Any, scenario: Any) -> float:
    """β_G; 1 where the clock must not run slower."""
    if scenario.compensate.method != "twin" or scenario.compensate.mode != "guarded":
        return 1.0
    if _slow(scenario):
        return 1.0
    cases = [Rehearsal(system, told_scenario(scenario, *case), case[0]) for case in CASES]
    least, worst = math.inf, dict.fromkeys(CLOCKS, 0.0)
    for clock in reversed(CLOCKS):  # from the slowest on: one bad case rules out a faster one
        for case in cases:
            worst[clock] = max(worst[clock], case.error(clock))
            if worst[clock] > least + GOOD_ENOUGH:
                break
        least = min(least, worst[clock])
    return max(clock for clock in CLOCKS if worst[clock] <= least + GOOD_ENOUGH)
