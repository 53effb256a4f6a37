"""Gain sets of the arm's admittance, and ramps between them.

A task requests a set; each desired gain moves there linearly, in `ramp` seconds from its present value. The real gains follow
the desired ones no faster than that, as far as the tank allows; what the tank refuses now is granted later.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import Kilogram, Metre, NewtonPerMetre, NewtonSecondPerMetre, Second

NORMAL = 0
HOOKED = 1
IMPACT = 2
SETS = {"normal": NORMAL, "hooked": HOOKED, "impact": IMPACT}
AXES = {"x": 0, "y": 1, "z": 2}


class GainSet(Section):
    """Apparent mass, damping and stiffness of an axis."""

    mass: Kilogram = Field(gt=0)
    damping: NewtonSecondPerMetre = Field(ge=0)
    stiffness: NewtonPerMetre = Field(gt=0)

    @property
    def numbers(self) -> tuple[float, float, float]:
        return self.mass, self.damping, self.stiffness


class Gains(Section):
    """Gain sets; the defaults are those of the paper's public code. `front` is the soft axis of `impact`."""

    normal: GainSet = GainSet(mass=1.0, damping=10.0, stiffness=5.0)
    hooked: GainSet = GainSet(mass=2.0, damping=10.0, stiffness=20.0)
    impact: GainSet = GainSet(mass=30.0, damping=800.0, stiffness=400.0)
    front: GainSet = GainSet(mass=1.0, damping=30.0, stiffness=20.0)
    front_axis: Literal["x", "y", "z"] = "x"
    ramp: Second = Field(default=0.5, gt=0, description="time of the linear ramp from one set to the next")
    radius: Metre = Field(
        default=1.0, gt=0, description="rotational gains are the translational ones times its square, per rad"
    )

    def table(self) -> np.ndarray:
        """[set][mass, damping, stiffness][axis], SI."""
        rows = np.empty((len(SETS), 3, 6))
        for name, code in SETS.items():
            rows[code] = np.array(getattr(self, name).numbers)[:, None]
        rows[IMPACT][:, AXES[self.front_axis]] = self.front.numbers
        rows[:, :, 3:] *= self.radius**2
        return rows


# Desired gains, their rates, and the requested step of the real mass and stiffness in this tick.
RAMP = record(
    chosen="i8",
    M_des=6,
    D_des=6,
    K_des=6,
    M_rate=6,
    D_rate=6,
    K_rate=6,
    dM=6,
    dK=6,
)


@jit
def _towards(now, target, step):
    return min(max(target, now - step), now + step)


@jit
def _start(x, table, ramp):
    """The rates that lead from here to the chosen set in one ramp."""
    for i in range(6):
        x.M_rate[i] = abs(table[0, i] - x.M_des[i]) / ramp
        x.D_rate[i] = abs(table[1, i] - x.D_des[i]) / ramp
        x.K_rate[i] = abs(table[2, i] - x.K_des[i]) / ramp


@jit
def begin(x, table, chosen):
    """Start in a set, with no ramp."""
    x.chosen = chosen
    for i in range(6):
        x.M_des[i], x.D_des[i], x.K_des[i] = table[chosen, 0, i], table[chosen, 1, i], table[chosen, 2, i]
        x.M_rate[i] = x.D_rate[i] = x.K_rate[i] = 0.0


@jit
def ramp_gains(x, table, ramp, chosen, dt):
    """Advance the desired gains by one tick."""
    if chosen != x.chosen:
        x.chosen = chosen
        _start(x, table[chosen], ramp)
    for i in range(6):
        x.M_des[i] = _towards(x.M_des[i], table[chosen, 0, i], x.M_rate[i] * dt)
        x.D_des[i] = _towards(x.D_des[i], table[chosen, 1, i], x.D_rate[i] * dt)
        x.K_des[i] = _towards(x.K_des[i], table[chosen, 2, i], x.K_rate[i] * dt)


@jit
def want(x, mass, stiffness, dt):
    """The steps dM, dK that would bring the real gains to the desired ones."""
    for i in range(6):
        x.dM[i] = _towards(mass[i], x.M_des[i], x.M_rate[i] * dt) - mass[i]
        x.dK[i] = _towards(stiffness[i], x.K_des[i], x.K_rate[i] * dt) - stiffness[i]
