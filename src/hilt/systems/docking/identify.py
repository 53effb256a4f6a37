"""Identify stiffness and damping of the contact while it lasts.

`akf`       adaptive Kalman filter on increments, as in the paper: ΔF·e = k Δp·e + c Δv·e    (8), (11) to (13)
`absolute`  F·e = k (p - p_ref)·e + c v·e + b with b free in every contact; each of the two surfaces has its own k and c.

The increments are lost in encoder noise and mix up unequal frames; the absolute form has neither problem.
Both skip the first samples of a contact and the weak forces at its ends.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import NewtonPerMetre
from hilt.maths import vec
from hilt.plant.encoder import Encoder

AKF = 0
ABSOLUTE = 1
CODES = {"akf": AKF, "absolute": ABSOLUTE}

FORGETTING = 0.98  # b of the amnesic factor
_SURFACE = record(known="i8", e=3, k="f8", c="f8", P=("f8", (3, 3)))


class Identify(Section):
    """How the contact is identified."""

    kind: Literal["absolute", "akf"] = "absolute"
    stiffness: NewtonPerMetre = Field(
        default=200e3, gt=0, description="expected order of magnitude; sets the initial uncertainty"
    )


@jit
def _akf_update(x, z, dp, dv):
    """[He2022, eq. 12, eq. 13] with R from the residual after the update and the posterior P."""
    P = x.P
    P[0, 0] += 1e2
    P[1, 1] += 1e-2
    u, w = P[0, 0] * dp + P[0, 1] * dv, P[1, 0] * dp + P[1, 1] * dv
    s = dp * u + dv * w + x.R
    k0, k1 = u / s, w / s
    y = z - x.k * dp - x.c * dv
    x.k += k0 * y
    x.c += k1 * y
    P[0, 0] -= k0 * u
    P[1, 1] -= k1 * w
    P[0, 1] -= k0 * w
    P[1, 0] = P[0, 1]
    x.updates += 1
    share = (1.0 - FORGETTING) / (1.0 - FORGETTING ** (x.updates + 1))
    y = z - x.k * dp - x.c * dv
    x.R = (1.0 - share) * x.R + share * (y * y + dp * (P[0, 0] * dp + 2.0 * P[0, 1] * dv) + dv * P[1, 1] * dv)


@jit
def _absolute_update(surface, x, z, dp, v, variance):
    """Kalman filter for (k, c, b) with constant states."""
    P = surface.P
    g0 = P[0, 0] * dp + P[0, 1] * v + P[0, 2]
    g1 = P[1, 0] * dp + P[1, 1] * v + P[1, 2]
    g2 = P[2, 0] * dp + P[2, 1] * v + P[2, 2]
    s = dp * g0 + v * g1 + g2 + variance
    y = (z - surface.k * dp - surface.c * v - x.b) / s
    surface.k += g0 * y
    surface.c += g1 * y
    x.b += g2 * y
    P[0, 0] -= g0 * g0 / s
    P[1, 1] -= g1 * g1 / s
    P[2, 2] -= g2 * g2 / s
    P[0, 1] -= g0 * g1 / s
    P[0, 2] -= g0 * g2 / s
    P[1, 2] -= g1 * g2 / s
    P[1, 0], P[2, 0], P[2, 1] = P[0, 1], P[0, 2], P[1, 2]


@jit
def _choose_surface(x, e):
    """Select the surface touched along this direction before, or a free slot."""
    for n in range(2):
        surface = x.surfaces[n]
        if surface.known and vec.dot(e, vec.load(surface.e)) > 0.5:
            return n
    for n in range(2):
        if not x.surfaces[n].known:
            return n
    return 1


@jit
def _begin(x, p, e, position, force, speed):
    """Begin a contact: discard the offset, increase the uncertainty of the stiffness a little, keep the damping."""
    x.on, x.samples, x.peak = 1, 0, 0.0
    x.surface = _choose_surface(x, e)
    surface = x.surfaces[x.surface]
    P = surface.P
    if not surface.known:
        surface.known = 1
        P[0, 0], P[1, 1], P[0, 1], P[1, 0] = p.P_k, p.P_c, 0.0, 0.0
        other = x.surfaces[1 - x.surface]
        if other.known:  # a new surface is probably similar to the known one
            surface.k = other.k
            P[0, 0] = (0.5 * other.k) ** 2
    vec.store(surface.e, e)
    P[0, 0] += (0.1 * surface.k) ** 2
    # Prior variance of the offset b: that of the damping term at the reference, plus noise and the error of the lead.
    x.b = force - surface.c * speed
    P[0, 2], P[1, 2] = -speed * P[0, 1], -speed * P[1, 1]
    P[2, 0], P[2, 1] = P[0, 2], P[1, 2]
    P[2, 2] = speed * speed * P[1, 1] + (p.b_deviation + p.stiffness * abs(speed) * p.sensor_delay) ** 2
    vec.store(x.reference, position)


@jit
def identify_step(sig, x, p, dt):
    if not sig.in_contact:
        x.on = 0
        sig.identified = 0
        return
    e, position, v = vec.load(sig.e_W), vec.load(sig.p_C_W), vec.load(sig.v_C_W)
    force = vec.dot(vec.load(sig.F_act_W), e)
    if not x.on:
        _begin(x, p, e, position, force, vec.dot(v, e))
    surface = x.surfaces[x.surface]
    x.samples += 1
    x.peak = max(x.peak, force)
    least = max(p.threshold, 0.1 * x.peak)
    strong = force > least and vec.dot(vec.load(x.F), e) > least
    if strong and x.samples > p.skipped:
        if p.kind == AKF:
            dF = vec.sub(vec.load(sig.F_act_W), vec.load(x.F))
            dp, dv = vec.sub(position, vec.load(x.position)), vec.sub(v, vec.load(x.v))
            _akf_update(x, vec.dot(dF, e), vec.dot(dp, e), vec.dot(dv, e))  # [He2022, eq. 8]
        else:
            # While k is unknown, encoder noise is weighted with the stiffness given in the scenario.
            stiffness = max(surface.k, p.stiffness)
            variance = p.force_variance + (stiffness * p.position_noise) ** 2 + (surface.c * p.velocity_noise) ** 2
            variance += (1e-3 * x.peak) ** 2
            depth = vec.dot(vec.sub(position, vec.load(x.reference)), e)
            _absolute_update(surface, x, force, depth, vec.dot(v, e), variance)
    vec.store(x.F, vec.load(sig.F_act_W))
    vec.store(x.position, position)
    vec.store(x.v, v)

    if p.kind == AKF:
        sig.k_hat, sig.c_hat, sig.k_var, sig.c_var = x.k, x.c, x.P[0, 0], x.P[1, 1]
        sig.identified = 1 if x.updates > 0 else 0
        return
    sig.k_hat, sig.k_var, sig.c_var = surface.k, surface.P[0, 0], surface.P[1, 1]
    sig.identified = 1 if surface.k > 0.0 and sig.k_var < (p.doubt * surface.k) ** 2 else 0
    # Damping that noise could explain is treated as zero.
    critical = 2.0 * math.sqrt(max(surface.k, 0.0) * p.mass)
    deviation = math.sqrt(max(sig.c_var, 0.0))
    significant = abs(surface.c) > max(3.0 * deviation, 2e-3 * critical) and deviation < 1e-2 * critical
    sig.c_hat = surface.c if significant else 0.0


@dataclass(frozen=True)
class Identification:
    """The method, and what the controller knows about bodies, encoders and sensor."""

    identify: Identify
    threshold: float  # N, above which a force is a contact
    sensor_delay: float  # s, assumed
    reduced_mass: float  # kg
    encoder: Encoder
    force_noise: float  # N, rms of F_act


def _pack(p: np.record, config: Identification, loop: Cycle) -> None:
    p.kind = CODES[config.identify.kind]
    p.threshold = config.threshold
    # Time until the lead shows the contact, plus one sample if the delay ends between two; increments need two more samples.
    late = config.sensor_delay / loop.period
    p.skipped = math.ceil(late - 1e-9) + (abs(late - round(late)) > 1e-6) + (2 if p.kind == AKF else 0)
    p.mass = config.reduced_mass
    p.position_noise, p.velocity_noise = config.encoder.position_noise, config.encoder.velocity_noise
    p.force_variance = 1e-4 + config.force_noise**2
    p.stiffness = config.identify.stiffness
    critical = 2.0 * math.sqrt(p.stiffness * p.mass)
    p.P_k, p.P_c = (10.0 * p.stiffness) ** 2, (0.1 * critical) ** 2
    p.sensor_delay = config.sensor_delay
    p.b_deviation = 2.0 * config.force_noise + 0.3 * p.threshold + p.stiffness * p.position_noise
    p.doubt = 0.2


@jit
def _reset(sig, x, p):
    x.R = 1.0
    x.P[0, 0], x.P[1, 1] = 1e10, 1e6


IDENTIFY = StageKind(
    "identify",
    identify_step,
    reads=("in_contact", "e_W", "p_C_W", "v_C_W", "F_act_W"),
    writes=("k_hat", "c_hat", "k_var", "c_var", "identified"),
    state=record(
        on="i8",
        samples="i8",
        peak="f8",
        surface="i8",
        surfaces=(_SURFACE, (2,)),
        b="f8",
        reference=3,
        F=3,
        position=3,
        v=3,
        k="f8",
        c="f8",
        P=("f8", (2, 2)),
        R="f8",
        updates="i8",
    ),
    params=record(
        kind="i8",
        threshold="f8",
        skipped="i8",
        mass="f8",
        stiffness="f8",
        position_noise="f8",
        velocity_noise="f8",
        force_variance="f8",
        P_k="f8",
        P_c="f8",
        b_deviation="f8",
        sensor_delay="f8",
        doubt="f8",
    ),
    pack=_pack,
    reset=_reset,
)
