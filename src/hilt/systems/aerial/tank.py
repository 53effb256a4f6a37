"""The energy tank: gains may rise only as far as energy has been set aside for them.

A change of gains at (x̃, v) changes the stored energy immediately by

    dE = ½ x̃ᵀdK x̃ + ½ vᵀdM v
    a = min(f(𝒯), (𝒯 - 𝒯_low)/dE) if dE > 0 else 1,       f(𝒯) = ½ (1 - cos π (𝒯 - 𝒯_low)/(𝒯_max - 𝒯_low))
    K += a dK,  M += a dM,  𝒯 = min(𝒯_max, 𝒯 - a dE);      after the step  𝒯 = min(𝒯_max, 𝒯 + η v_mᵀD v_m T)

That is `exact`: the tank pays exactly what the gains cost, and never more than it has. Two other forms are kept so that you
can reproduce their failure. `printed` is the paper's: α is 1 where the gains cost energy [Cuniato2022, eq. 14], the ½ is
missing at the stiffness, and z of 𝒯 = ½z² is integrated; z passes through 0 and comes back with energy that was never paid.
`ode` has α and ½ corrected and still integrates z' = (φ P - γ w)/z by Euler's rule: a step that costs more than the tank
holds drives z past 0.

The audit must never be negative, with W the energy put in at the port (h, v_m), V the stored energy  [Cuniato2022, eq. 15]:

    audit = W - (V - V_0) - (𝒯 - 𝒯_0) - (1 - η) Σ v_mᵀD v_m T  ≥ 0

For `exact` it is the energy that a full tank has discarded.
"""

import math
from typing import Literal

from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import Joule, Number
from hilt.systems.aerial import admittance

OFF = 0
EXACT = 1
PRINTED = 2
ODE = 3
FORMS = {"exact": EXACT, "printed": PRINTED, "ode": ODE}


class Tank(Section):
    """Energy set aside for rising gains; the defaults are those of the paper's public code."""

    enabled: bool = Field(default=True, description="without the tank, the gains follow the task unchecked")
    form: Literal["exact", "printed", "ode"] = "exact"
    low: Joule = Field(default=0.01, ge=0, description="energy that always stays in the tank")
    high: Joule = Field(default=0.15, gt=0, description="capacity of the tank")
    start: Joule = Field(default=0.15, gt=0, description="energy at the start")
    share: Number = Field(default=0.8, ge=0, le=1, description="η, fraction of the dissipated energy that refills the tank")

    @model_validator(mode="after")
    def _bounds(self) -> "Tank":
        if not self.low <= self.start <= self.high or self.low == self.high:
            raise Unfit(
                f"tank.start is {self.start:g} J with tank.low = {self.low:g} J and tank.high = {self.high:g} J; "
                "it must lie between these bounds, which must differ; change it",
                "tank.start",
                "tank.low",
                "tank.high",
            )
        return self


TANK = record(energy="f8", z="f8", granted="f8", supplied="f8", dissipated="f8", start="f8")
TANK_PARAMS = record(form="i8", low="f8", high="f8", start="f8", share="f8")


def pack_tank(p, tank: Tank) -> None:
    p.form = FORMS[tank.form] if tank.enabled else OFF
    p.low, p.high, p.start, p.share = tank.low, tank.high, tank.start, tank.share


@jit
def fill(tank, p, stored):
    """Start, with `stored` energy in the springs and masses."""
    tank.energy = p.start
    tank.z = math.sqrt(2.0 * p.start)
    tank.start = stored + p.start
    tank.granted = 1.0


@jit
def _valve(energy, p):
    return 0.5 * (1.0 - math.cos(math.pi * (energy - p.low) / (p.high - p.low)))


@jit
def _cost(x, dM, dK, half_of_spring):
    """Energy that a change of gains puts into masses and springs."""
    energy = 0.0
    for i in range(6):
        energy += 0.5 * x.v[i] * x.v[i] * dM[i] + half_of_spring * x.z[i] * x.z[i] * dK[i]
    return energy


@jit
def _grant_exact(tank, x, dM, dK, p):
    cost = _cost(x, dM, dK, 0.5)
    granted = 1.0
    if cost > 0.0:
        open_by = _valve(min(max(tank.energy, p.low), p.high), p)
        granted = max(0.0, min(open_by, (tank.energy - p.low) / cost))
    tank.energy = min(p.high, tank.energy - granted * cost)
    return granted


@jit
def _grant_integrated(tank, x, damping, dM, dK, p, dt):
    """The tank as an ordinary differential equation in z.  [Cuniato2022, eq. 14]"""
    printed = p.form == PRINTED
    w = _cost(x, dM, dK, 1.0 if printed else 0.5) / dt
    if printed:
        granted = 1.0 if w > 0.0 else _valve(tank.energy, p)
    else:
        granted = _valve(min(max(tank.energy, p.low), p.high), p) if w > 0.0 else 1.0
    gamma = 0.0 if tank.energy >= p.high and w <= 0.0 else granted
    phi = p.share if tank.energy < p.high else 0.0
    power = 0.0
    for i in range(6):
        power += damping[i] * x.v[i] * x.v[i]
    tank.z += dt * (phi * power - gamma * w) / tank.z
    tank.energy = 0.5 * tank.z * tank.z
    return granted


@jit
def grant(tank, x, mass, damping, stiffness, dM, dK, p, dt):
    """Change the gains, as far as the tank allows; call it before the tick's `comply`."""
    granted = 1.0
    if p.form == EXACT:
        granted = _grant_exact(tank, x, dM, dK, p)
    elif p.form != OFF:
        granted = _grant_integrated(tank, x, damping, dM, dK, p, dt)
    for i in range(6):
        mass[i] += granted * dM[i]
        stiffness[i] += granted * dK[i]
    tank.granted = granted


@jit
def refill(tank, x, damping, p, dt):
    """Account for the tick and refill the tank; call it after `comply`."""
    heat = admittance.dissipated(x, damping, dt)
    tank.supplied += admittance.supplied(x, dt)
    tank.dissipated += heat
    if p.form == EXACT:
        tank.energy = min(p.high, tank.energy + p.share * heat)


@jit
def audit(tank, stored, p):
    """Energy that must never be negative: see the top of the file.  [Cuniato2022, eq. 15]"""
    return tank.supplied + tank.start - stored - tank.energy - (1.0 - p.share) * tank.dissipated
