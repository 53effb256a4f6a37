"""A guard at the human port: it stabilises hands stiffer than the loop's limit, and soft hands do not feel it.

Lead: the set-point runs ahead of filter and servo, by a fraction λ of their lag; τ = servo lag + T/2:

    x_cmd = x_d + offset + z + L1 v + L2 a,    L1 = λ (1/ω_c + τ),   L2 = λ² τ/ω_c,   a = (y - D v - K z)/M

Observer: the power that the human puts in and that is not stored, from the raw force and the encoder, both low-passed alike
(the filtered force or the commanded velocity would hide the very lag that generates the energy):

    S = ½M v_o² + ½K y_o²,    P += α (f_o v_o - ΔS/T - P),    V += α (v_o² - V),    α = 1 - e^(-T/0.15 s)

P/V is the damping that the human feels. Slow adaptive damping raises it if it falls below 0.3 D0, with an allowance for noise:

    need = 0.3 D0 - (P + 3 σ_f √(T/0.3 s) √V)/V  if V > (2 mm/s)² and the tool is touched, else 0
    need > 0:  ΔD = min(200, ΔD + 50 need T);    else, after 1 s of quiet, ΔD decays with 8 s

Averaging over 0.15 s and the slow release keep it from chattering, as tick-by-tick passivity control does here. The guard
works on the three shifts: a wrist has a stiffness of a few N·m/rad, and the limit for turns is two orders of magnitude
higher: at `hardware.radius` = 1 m as many N·m/rad as the other has N/m.
"""

import math

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import Newton, Number

OBSERVER_BANDWIDTH = 150.0  # rad/s
WINDOW = 0.15  # s, of the averages
NOISE_WINDOW = 0.3  # s over which the force noise averages out
WANTED = 0.3  # fraction of D0 that the human must feel
MOVING = 2e-3  # m/s below which nothing is concluded
TOUCH = 0.05  # N rms: below this nobody touches the tool, and the base's own motion would be taken for a human's
MOST = 200.0  # N·s/m of added damping
GROWTH = 50.0  # 1/s
QUIET = 1.0  # s without need before the damping decays
DECAY = 8.0  # s


class PortPassivity(Section):
    """The guard at the human port."""

    enabled: bool = Field(description="without the guard, hands above the stiffness limit diverge")
    lead: Number = Field(default=0.7, ge=0, le=1, description="λ, fraction of the lag that the set-point makes up for")
    force_noise: Newton = Field(
        default=0.0, ge=0, description="rms noise per axis of the raw force that the observer allows for"
    )


def lead_times(share: float, bandwidth: float, servo_lag: float, period: float) -> tuple[float, float]:
    """L1 [s] and L2 [s²]."""
    tau = servo_lag + 0.5 * period
    return share * (1.0 / bandwidth + tau), share**2 * tau / bandwidth


PORT_GUARD = record(f=3, y=3, v=3, S=3, P=3, V=3, F=3, added=3, quiet=3)
PORT_GUARD_PARAMS = record(enabled="i8", L1="f8", L2="f8", smooth="f8", average="f8", allowance="f8", release="f8")


def pack_port_guard(p: np.record, given: PortPassivity, bandwidth: float, servo_lag: float, dt: float) -> None:
    """For a force filter of this bandwidth [rad/s] before it, and a servo of this lag [s] after it."""
    p.enabled = given.enabled
    if given.enabled:
        p.L1, p.L2 = lead_times(given.lead, bandwidth, servo_lag, dt)
    p.smooth = 1.0 - math.exp(-OBSERVER_BANDWIDTH * dt)
    p.average = 1.0 - math.exp(-dt / WINDOW)
    p.allowance = 3.0 * given.force_noise * math.sqrt(dt / NOISE_WINDOW)
    p.release = math.exp(-dt / DECAY)


@jit
def observe(g, i, f, y, mass, stiffness, p, dt):
    """One axis: raw force of the human and the tool's displacement from rest by the encoder, both at t."""
    f_before, y_before, S_before = g.f[i], g.y[i], g.S[i]
    g.f[i] += p.smooth * (f - g.f[i])
    g.y[i] += p.smooth * (y - g.y[i])
    v = (g.y[i] - y_before) / dt
    g.v[i] = v
    g.S[i] = 0.5 * (mass * v * v + stiffness * g.y[i] * g.y[i])
    # The velocity is that of the middle of the tick, so the force is taken there too.
    power = 0.5 * (f_before + g.f[i]) * v - (g.S[i] - S_before) / dt
    g.P[i] += p.average * (power - g.P[i])
    g.V[i] += p.average * (v * v - g.V[i])
    g.F[i] += p.average * (g.f[i] * g.f[i] - g.F[i])


@jit
def adapt(g, i, damping, p, dt):
    """One axis: more damping if the human feels less than the wanted fraction of D0, slowly less otherwise."""
    need = 0.0
    if g.V[i] > MOVING * MOVING and g.F[i] > TOUCH * TOUCH:
        need = WANTED * damping - (g.P[i] + p.allowance * math.sqrt(g.V[i])) / g.V[i]
    if need > 0.0:
        g.added[i] = min(MOST, g.added[i] + GROWTH * need * dt)
        g.quiet[i] = 0.0
        return
    g.quiet[i] += dt
    if g.quiet[i] > QUIET:
        g.added[i] *= p.release


@jit
def lead(p, y, z, v, mass, damping, stiffness):
    """Lead of the set-point over z."""
    return p.L1 * v + p.L2 * (y - damping * v - stiffness * z) / mass
