"""Step 8: the rehearsal at set-up in six degrees of freedom, of the first touch as the controller was told it is.

As in one degree of freedom, with the mass that this touch feels and with slower clocks to try: ω = √(k/m_eff) may be much
larger.
"""

import math
from typing import Any

import numpy as np

from hilt.core.faults import InputError
from hilt.systems.docking.analysis import rehearse
from hilt.systems.docking.analysis.bound import effective_mass

CLOCKS = tuple(1.0 - 0.04 * i for i in range(19))
FLIGHT = 0.35  # s before the contact


def closing_speed(system: Any, scenario: Any) -> float:
    """Of the tip along the told normal, at the start; both bodies may turn."""
    still = scenario.model_copy(update={"compensate": scenario.compensate.model_copy(update={"mode": "realtime"})})
    start = system.set_up(still).row[0].V_WB_cmd
    return abs(float(np.dot(scenario.prior.normal(scenario), start.v + np.cross(start.w, scenario.rod.tip))))


def depth_in_space(told: Any, kind: str, speed: float) -> float:
    """δ where the tip stands still: ½ m v² = ½ F δ of a linear contact, 0.4 F δ of a Hertz contact, F = k δ."""
    return float(speed * math.sqrt(effective_mass(told) / told.contact.stiffness / (0.8 if kind == "hertz" else 1.0)))


def told_scenario(scenario: Any, kind: str, stiffness: float, slower: float, speed: float) -> Any:
    """As in one degree of freedom, with the normal that was told."""
    told = rehearse.told_scenario(scenario, kind, stiffness, slower)
    gap = min(scenario.frames.gap, scenario.rod.radius + speed * (FLIGHT + told.robot.delay))
    told = told.model_copy(
        update={
            "frames": scenario.frames.model_copy(update={"gap": gap, "normal": scenario.prior.normal(scenario)}),
            "prior": told.prior.model_copy(update={"normal_error": 0.0}),
            "loop": told.loop.model_copy(update={"duration": 2.0 * gap / speed + 1.0}),
        }
    )
    secant = told.contact.stiffness / math.sqrt(depth_in_space(told, kind, speed))
    return told.model_copy(update={"contact": told.contact.model_copy(update={"hertz_coefficient": secant})})


class Rehearsal:
    """One case, ready to be run with any clock; noise is left out, doubts about it are not."""

    def __init__(self, system: Any, told: Any, kind: str, speed: float) -> None:
        rehearse.check_length(told)
        self._bench = system.set_up(told)
        self._batch = self._bench.code.batch
        p = self._bench.p[0]
        p.sensor.noise = p.encoder.position_noise = p.encoder.velocity_noise = 0.0
        p.twin_clock.realtime = 0
        self._ideal = told.contact.stiffness * depth_in_space(told, kind, speed)
        self._log = np.zeros(rehearse.LOGGED, system.row)

    def error(self, clock: float) -> float:
        """|CoF - 1| of the first contact."""
        row, x, w = self._bench.row.copy(), self._bench.x.copy(), self._bench.w.copy()
        self._bench.p[0].twin_clock.guarded = clock
        peak = 0.0
        for _ in range(0, self._bench.ticks, len(self._log)):
            self._batch(row, x, w, self._bench.p, self._log)
            size = np.linalg.norm(self._log["F_C_true_W"], axis=1)
            peak = max(peak, float(size.max()))
            if size[-1] < 0.7 * peak:
                break
        return abs(peak / self._ideal - 1.0)


def rehearsed_clock(system: Any, scenario: Any) -> float:
    """β_G; 1 where the clock must not run slower."""
    if not scenario.rotates:
        return rehearse.rehearsed_clock(system, scenario)
    if scenario.compensate.method != "twin" or scenario.compensate.mode != "guarded":
        return 1.0
    speed = closing_speed(system, scenario)
    if not speed > 1e-6 * scenario.approach.speed:
        raise InputError(
            "compensate.mode is 'guarded', but along the normal that the controller is told the rod never meets the frames; "
            "change prior.normal_error or approach.direction, or set compensate.mode = 'realtime'"
        )
    cases = [Rehearsal(system, told_scenario(scenario, *case, speed), case[0], speed) for case in rehearse.CASES]
    least, worst = math.inf, dict.fromkeys(CLOCKS, 0.0)
    for clock in reversed(CLOCKS):  # from the slowest on: one bad case rules out a faster one
        for case in cases:
            worst[clock] = max(worst[clock], case.error(clock))
            if worst[clock] > least + rehearse.GOOD_ENOUGH:
                break
        least = min(least, worst[clock])
    return max(clock for clock in CLOCKS if worst[clock] <= least + rehearse.GOOD_ENOUGH)
