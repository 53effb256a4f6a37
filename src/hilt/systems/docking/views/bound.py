"""What physics allows at the first touch of a scenario of `docking`: the numbers, and a sentence on what they mean."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from hilt.core.faults import InputError
from hilt.report.words import si
from hilt.systems.docking.analysis import bound_bending
from hilt.systems.docking.analysis.bound import WITHIN, Touch, clock_for, least_cof_of, stiffness_for, touch_of
from hilt.systems.docking.analysis.bound_bending import Tip, tip_of
from hilt.systems.docking.analysis.bound_lp import least_cof_lp
from hilt.systems.docking.analysis.bound_phase import Spread, spread_of
from hilt.systems.docking.analysis.methods import with_method
from hilt.systems.docking.docking import Docking, guarded_clock

QUANTILES = (0.01, 0.99)
PARTS = {
    "robot_dead_time": "robot's dead time",
    "sensor": "sensor and filter",
    "felt": "until the force is detected, touch just after a tick",
}


@dataclass(frozen=True)
class FirstTouch:
    """The bound of a scenario; a clock is None if the method `twin` does not support the scenario."""

    touch: Touch
    cof: float  # for a touch just after a tick
    spread: Spread | None  # over phases of the tick and noise
    programme: float
    guarded_clock: float | None
    guarded_cof: float | None
    clock: float | None
    stiffness: float | None
    tip: Tip | None = None  # of a robot that bends

    @property
    def angle(self) -> float:
        """ω τ, with τ the total delay."""
        return self.touch.omega * (self.touch.dead_time + self.touch.T1 + self.touch.sensor)

    @property
    def parts(self) -> dict[str, float]:
        """The parts of t_b [s]."""
        touch = self.touch
        return {"robot_dead_time": touch.dead_time, "sensor": touch.sensor, "felt": touch.felt}

    @property
    def sentence(self) -> str:
        late = si(self.touch.t_b, "s", 3)
        if self.cof <= 1.0 and self.tip is not None:
            return (
                f"Real time forces no excess: {late} after the first touch the robot can still prevent its tip from "
                "pressing harder than in space."
            )
        if self.cof <= 1.0:
            return f"Real time is enough: {late} after the first touch the robot can still limit the force to that in space."
        words = (
            f"A surface is unknown until it is touched, and the robot responds {late} later: in real time a first touch "
            f"just after a tick has at least {self.cof:.3g} times the force in space, whatever the method"
        )
        if self.spread is not None:
            words += f" (mean over all phases of a tick: {self.spread.mean:.3g})"
        if self.cof <= 1.0 + WITHIN:
            return words + f"; that is within {100 * WITHIN:g} %."
        if self.clock is not None:
            words += f"; a clock at {self.clock:.3g} times real time could keep it within {100 * WITHIN:g} %"
        if self.guarded_clock is not None:
            words += f", and twin in mode guarded uses {self.guarded_clock:.2g}"
        return words + "."

    def rows(self) -> Iterator[tuple[str, str]]:
        """The same as table rows: quantity and value."""
        touch, unit, within = self.touch, stiffness_unit(self.touch), f"{100 * WITHIN:g} %"
        yield "lowest CoF of the first touch, real time, just after a tick", f"{self.cof:.4f}"
        yield "  the same by the linear programme", f"{self.programme:.4f}"
        if self.spread is not None:
            low, high = (self.spread.quantile(share) for share in QUANTILES)
            words = "  over the phases of a tick" + (" and noise" if touch.noise > 0 else "") + ": mean, 1 % to 99 %"
            yield words, f"{self.spread.mean:.4f}, {low:.4f} to {high:.4f}"
        if self.guarded_clock is not None and self.guarded_cof is not None:
            yield f"lowest CoF with the clock of guarded, β = {self.guarded_clock:.2f}", f"{self.guarded_cof:.4f}"
        if self.clock is not None:
            yield f"largest clock β that can meet {within}", f"{self.clock:.3f}"
        if self.stiffness is not None:
            yield f"stiffness above which real time cannot meet {within}, A as below", si(self.stiffness, unit)
        yield "  stiffness here", si(touch.stiffness, unit)
        if self.tip is not None:
            yield "the robot bends: stiffness at the tip", si(self.tip.stiffness, "N/m")
            yield "  mode, damping ratio", f"{self.tip.omega / (2.0 * math.pi):.4g} Hz, {self.tip.damping_ratio:.3g}"
        yield "from the touch to the first response of the robot, t_b", si(touch.t_b, "s")
        for part, seconds in self.parts.items():
            yield f"  {PARTS[part]}", si(seconds, "s")
        yield "lag of the robot's response 2ζ/ω_n, in addition to t_b", si(touch.T1, "s")
        yield "largest acceleration of the command, A", si(touch.acceleration, "m/s²")
        yield "  relative to v0 ω, n", f"{touch.acceleration / (touch.speed * touch.omega):.3g}"
        yield "largest speed of the command, V", si(touch.fastest, "m/s")
        yield "speed along the normal, v0", si(touch.speed, "m/s")
        yield "mass along the normal", f"{touch.mass:.4g} kg"

    def as_json(self) -> dict[str, Any]:
        touch = self.touch
        return {
            "bound_cof_after_tick": self.cof,
            "bound_cof": self.cof,  # its name until 0.1
            "bound_cof_mean": None if self.spread is None else self.spread.mean,
            "bound_cof_1_to_99_percent": None if self.spread is None else [self.spread.quantile(share) for share in QUANTILES],
            "bound_cof_programme": self.programme,
            "guarded_clock": self.guarded_clock,
            "bound_cof_guarded": self.guarded_cof,
            "clock_needed": self.clock,
            "critical_stiffness": self.stiffness,
            "stiffness": touch.stiffness,
            "stiffness_unit": stiffness_unit(touch),
            "late_s": touch.t_b,
            "late_parts_s": self.parts,
            "robot_response_s": touch.T1,
            "command_acceleration_m_s2": touch.acceleration,
            "command_acceleration_ratio": touch.acceleration / (touch.speed * touch.omega),
            "command_speed_m_s": touch.fastest,
            "approach_speed_m_s": touch.speed,
            "effective_mass_kg": touch.mass,
            "contact_frequency_Hz": touch.omega / (2.0 * math.pi),
            "omega_tau": self.angle,
            "ideal_peak_N": touch.ideal,
            "sentence": self.sentence,
        }


def stiffness_unit(touch: Touch) -> str:
    return "N/m^1.5" if touch.hertz else "N/m"


def bound_of(scenario: Docking) -> float | None:
    """Lowest CoF of a first touch just after a tick, in real time; None if there is no bound."""
    touch, tip = touch_of(scenario), tip_of(scenario)
    found = least_cof_of(touch) if tip is None else None
    if found is not None or touch.hertz:
        return found
    try:
        return _either(touch, tip)
    except InputError:  # cannot be solved: the report omits it
        return None


def bound(scenario: Docking) -> FirstTouch:
    touch = touch_of(scenario)
    if touch.hertz and touch.damping > 0:
        key, unit = ("damping", "N*s/m") if scenario.contact.damping > 0 else ("dissipation", "s/m")
        kind = scenario.contact.kind
        raise InputError(f"contact.kind is {kind!r} with contact.{key}; its bound is not known; set contact.{key} to 0 {unit}")
    tip = tip_of(scenario)
    if touch.hertz and tip is not None:
        raise InputError(
            f"the bound of a Hertz contact on a robot that bends ({scenario.robot.mode_frequency:g} Hz) is not known; "
            "set contact.kind = 'linear', or robot.mode_frequency = '0 Hz'"
        )
    guarded = with_method(scenario, "twin", "guarded")
    clock = guarded_clock(guarded) if guarded is not None else None
    slow = None if clock is None else replace(touch, clock=clock)
    cof = _either(touch, tip)
    return FirstTouch(
        touch=touch,
        cof=cof,
        # Full braking gives a solution only for a robot that does not bend.
        spread=spread_of(touch) if tip is None else None,
        programme=least_cof_lp(touch) if tip is None else cof,
        guarded_clock=clock,
        guarded_cof=None if slow is None else _either(slow, tip),
        clock=clock_for(touch) if tip is None else None,
        stiffness=stiffness_for(touch) if tip is None else None,
        tip=tip,
    )


def _either(touch: Touch, tip: Tip | None) -> float:
    if tip is not None:
        return bound_bending.least_cof(touch, tip)
    found = least_cof_of(touch)
    return least_cof_lp(touch) if found is None else found
