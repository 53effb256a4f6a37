"""Mass of the payload, bias of the wrist sensor and stiffness of the grip, identified on orbit from wrist force and hand.

The grip stretches as fast as the arm pushes, so the force divided by the hand's acceleration is not the mass. A linear Kalman
filter over

    z = [x_t, v_t, θ = 1/m, β = b/m, γ = c/m, κ = 1/k]
    v_t' = θ f - β - γ v_s;   y = x_s = x_t + κ f1,   f1 = f low-passed with d/k = 15 ms

needs no derivatives. Everything is along one direction, the operator's. Without excitation only x_t, v_t and β are learnt.

A force on the payload that is not the arm's would be taken for bias. The innovation reveals it, low-passed (noise averages
out, an obstacle does not), squared and normalised: above 4, or with the bias at its bound, everything except x_t and v_t
returns to its earlier value and is frozen. When the innovation has been consistent again for a second, x_t and v_t are
re-initialised and learning resumes.

A gain error g of the wrist sensor gives m_hat = g m: right for moving the payload, not its true mass.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, MetrePerSecond, Newton, NewtonPerMetre, NewtonSecondPerMetre, Number, Second
from hilt.maths import vec
from hilt.maths.quintic import quintic, quintic_bend

X, V, THETA, BETA, GAMMA, KAPPA = range(6)
GRIP_TIME = 0.015  # s, d/k of a grip
GRIP_DOUBT = 1e-4  # m/N by which noise in the force enters the position: the softest grip
MODEL_ERROR = 20e-6  # m of the hand's position that the model does not explain
SMOOTH = 0.1  # s of low-pass on all measurements: noise in f1 makes the grip look stiff and the payload heavy
BIAS_WALK = 0.05  # N/√s
MOST_BIAS = 2.0  # N
EXCITED, EXCITED_MEAN, EXCITED_HOLD = 1.5, 0.2, 2.0  # N over s; how long excitation still counts, s
GUARD, RELEASE, GUARD_TIME = 4.0, 2.0, 0.2  # normalised innovation squared that freezes, that releases; low-pass before it, s
KEPT = 1.0  # s between two copies of the estimate (a freeze goes back to the older of two), and of good fit before a release
LEAST_KAPPA = 1e-7  # m/N, a grip of 10 MN/m


class IdentifyPayload(Section):
    """Initial beliefs of the identification, and the push that excites it."""

    mass_error: Number = Field(default=0.2, gt=0, lt=1, description="relative standard deviation of the initial mass")
    grip_stiffness: NewtonPerMetre = Field(default=20e3, gt=0, description="initial value")
    kappa_deviation: Number = Field(default=6e-5, gt=0, description="standard deviation of 1/stiffness, m/N")
    bias_deviation: Newton = Field(default=0.2, gt=0)
    drag_deviation: NewtonSecondPerMetre = Field(default=20.0, gt=0)
    speed_deviation: MetrePerSecond = Field(default=1e-3, gt=0, description="standard deviation of the payload's initial speed")
    force_noise: Newton = Field(default=0.5, ge=0, description="rms of the wrist sensor")
    position_noise: Metre = Field(default=0.0, ge=0, description="rms of the hand's position")
    push: bool = Field(
        default=True, description="push before the transport; without the push only the transport itself excites"
    )
    push_distance: Metre = Field(default=6e-3, ge=0)
    push_time: Second = Field(default=4.6, gt=0, description="time of the outward move; the return takes as long")
    push_rest: Second = Field(default=3.0, ge=0, description="rest before the push")
    push_settle: Second = Field(default=6.0, ge=0, description="rest after the push")

    @property
    def push_end(self) -> float:
        """Duration of the identification push."""
        return self.push_rest + 2.0 * self.push_time + self.push_settle if self.push else 0.0


@jit
def push_reference(t, p):
    """x_d, v_d, a_d of the identification push: rest, a quintic out, the same back, rest until p.push_end."""
    share = (t - p.push_rest) / p.push_time
    if share <= 0.0 or share >= 2.0:
        return 0.0, 0.0, 0.0
    size, start = p.push_distance, 0.0
    if share > 1.0:
        share, size, start = share - 1.0, -size, size
    rate = 1.0 / p.push_time
    moved, slope = quintic(share)
    return start + size * moved, size * rate * slope, size * rate * rate * quintic_bend(share)


@jit
def _attach(x, p):
    """Start with the payload attached to the hand, with the grip stretched according to the force; its speed is uncertain."""
    z, P = x.z, x.P
    z[X] = x.y - z[KAPPA] * x.f1
    for i in range(6):
        P[V, i] = P[i, V] = 0.0
    for i in range(6):
        P[X, i] = P[i, X] = -x.f1 * P[KAPPA, i]
    P[X, X], P[V, V] = p.R + P[KAPPA, KAPPA] * x.f1 * x.f1, p.P0[V]


@jit
def _predict(x, p, f, v_s, dt):
    """z = F z with F = 1 except for the rows of x_t and v_t; P = F P Fᵀ + Q."""
    z, P = x.z, x.P
    push, h = dt * (z[THETA] * f - z[BETA] - z[GAMMA] * v_s), 0.5 * dt
    z[X] += dt * z[V] + h * push
    z[V] += push
    for j in range(6):
        push = dt * (f * P[THETA, j] - P[BETA, j] - v_s * P[GAMMA, j])
        P[X, j] += dt * P[V, j] + h * push
        P[V, j] += push
    for i in range(6):
        push = dt * (f * P[i, THETA] - P[i, BETA] - v_s * P[i, GAMMA])
        P[i, X] += dt * P[i, V] + h * push
        P[i, V] += push
    P[V, V] += (z[THETA] * p.force_noise * dt) ** 2
    P[BETA, BETA] += p.Q_beta * dt


@jit
def _correct(x, p):
    """Joseph form: valid for any gain, also with rows set to 0 for states that must not learn now."""
    z, P, A, K = x.z, x.P, x.A, x.K
    innovation = x.y - z[X] - z[KAPPA] * x.f1
    for i in range(6):
        K[i] = P[i, X] + P[i, KAPPA] * x.f1
    s = K[X] + K[KAPPA] * x.f1
    x.innovation += p.guard_share * (innovation - x.innovation)
    x.doubt += p.guard_share * (s - x.doubt)
    x.nis = x.innovation * x.innovation / (x.doubt + p.R_guard)
    s += p.R
    for i in range(6):
        learns = i < THETA or (not x.frozen and (i == BETA or x.quiet < EXCITED_HOLD))
        K[i] = K[i] / s if learns else 0.0
        z[i] += K[i] * innovation
    for i in range(6):  # A = (1 - K H) P
        for j in range(6):
            A[i, j] = P[i, j] - K[i] * (P[X, j] + x.f1 * P[KAPPA, j])
    for i in range(6):  # P = A (1 - K H)ᵀ + K R Kᵀ
        for j in range(i + 1):
            P[i, j] = A[i, j] - (A[i, X] + x.f1 * A[i, KAPPA]) * K[j] + K[i] * p.R * K[j]
            P[j, i] = P[i, j]
    z[THETA] = min(max(z[THETA], 0.1 * p.theta0), 10.0 * p.theta0)
    z[KAPPA] = max(z[KAPPA], LEAST_KAPPA)
    z[BETA] = min(max(z[BETA], -MOST_BIAS * z[THETA]), MOST_BIAS * z[THETA])


@jit
def _copy(z, P, z_out, P_out):
    for i in range(6):
        z_out[i] = z[i]
        for j in range(6):
            P_out[i, j] = P[i, j]


@jit
def _guard(x, p, dt):
    """Freeze when the motion does not fit the arm's force; release when it has fitted for a while; otherwise keep copies."""
    x.age = 0.0 if x.frozen and x.nis > RELEASE else x.age + dt
    if not x.frozen and (x.nis > GUARD or abs(x.z[BETA]) >= MOST_BIAS * x.z[THETA]):
        x.frozen, x.age = 1, 0.0
        place, speed = x.z[X], x.z[V]
        _copy(x.z_older, x.P_older, x.z, x.P)
        x.z[X], x.z[V] = place, speed
        for i in range(6):  # mass, drag and grip count as known, or their uncertainty would explain away any obstacle
            for j in (THETA, GAMMA, KAPPA):
                x.P[i, j] = x.P[j, i] = 0.0
    elif x.age >= KEPT:
        x.age = 0.0
        if x.frozen:  # the earlier uncertainty, that of the bias as it has grown, and re-initialised motion of the payload
            x.frozen = 0
            grown = x.P[BETA, BETA]
            _copy(x.z, x.P_older, x.z_old, x.P)
            x.P[BETA, BETA] = max(grown, x.P[BETA, BETA])
            _attach(x, p)
            _copy(x.z, x.P, x.z_old, x.P_old)
        _copy(x.z_old, x.P_old, x.z_older, x.P_older)
        _copy(x.z, x.P, x.z_old, x.P_old)


@jit
def payload_prior_step(sig, x, p, dt):
    """Nothing is identified: the initial beliefs stay."""
    _publish(sig, x)


@jit
def payload_identify_step(sig, x, p, dt):
    if p.enabled:
        e = vec.load(p.direction)
        f, y, v_s = vec.dot(vec.load(sig.f_s), e), vec.dot(vec.load(sig.x_s), e), vec.dot(vec.load(sig.v_s), e)
        if not x.started:
            x.started, x.origin = 1, y
            x.f, x.f1, x.v = f, f, v_s
            _attach(x, p)
        # The same filter on all three, so the model holds for them as for the measurements.
        f = x.f + p.smooth_share * (f - x.f)
        v_s = x.v + p.smooth_share * (v_s - x.v)
        x.y += p.smooth_share * (y - x.origin - x.y)
        x.f1 = p.keep * x.f1 + p.share_before * x.f + p.share_now * f
        _predict(x, p, 0.5 * (x.f + f), 0.5 * (x.v + v_s), dt)
        x.f, x.v = f, v_s
        x.push += p.push_share * (f - x.z[BETA] / x.z[THETA] - x.push)
        x.quiet = 0.0 if abs(x.push) > EXCITED else min(x.quiet + dt, EXCITED_HOLD)
        _correct(x, p)
        _guard(x, p, dt)
    _publish(sig, x)


@jit
def _publish(sig, x):
    mass = 1.0 / x.z[THETA]
    variance = x.P_older[THETA, THETA] if x.frozen else x.P[THETA, THETA]
    sig.m_hat, sig.m_var = mass, variance * mass * mass * mass * mass
    sig.b_hat, sig.c_hat_payload, sig.k_grip_hat = x.z[BETA] * mass, x.z[GAMMA] * mass, 1.0 / x.z[KAPPA]
    sig.identify_frozen = x.frozen


@dataclass(frozen=True)
class PayloadBelief:
    """Initial beliefs about the payload, and the direction of the push."""

    section: IdentifyPayload
    enabled: bool
    mass: float  # kg
    direction: tuple[float, ...]  # of any length


def _pack(p: np.record, config: PayloadBelief, loop: Cycle) -> None:
    section, mass, dt = config.section, config.mass, loop.period
    size = math.hypot(*config.direction)
    p.direction = [part / size for part in config.direction]
    p.enabled = config.enabled
    p.theta0, p.kappa0 = 1.0 / mass, 1.0 / section.grip_stiffness
    p.P0[V], p.P0[KAPPA] = section.speed_deviation**2, section.kappa_deviation**2
    p.P0[THETA:KAPPA] = [(part / mass) ** 2 for part in (section.mass_error, section.bias_deviation, section.drag_deviation)]
    p.force_noise = section.force_noise
    p.Q_beta = (BIAS_WALK / mass) ** 2
    p.R = MODEL_ERROR**2 + section.position_noise**2 + (GRIP_DOUBT * section.force_noise) ** 2
    # Exact low-pass of a force that is linear between samples.
    p.keep = math.exp(-dt / GRIP_TIME)
    slope = GRIP_TIME / dt * (1.0 - p.keep)
    p.share_before, p.share_now = slope - p.keep, 1.0 - slope
    p.guard_share = 1.0 - math.exp(-dt / GUARD_TIME)
    p.R_guard = MODEL_ERROR**2 + 0.5 * p.guard_share * (p.R - MODEL_ERROR**2)  # noise averages out, a wrong model does not
    p.push_share = 1.0 - math.exp(-dt / EXCITED_MEAN)
    p.smooth_share = 1.0 - math.exp(-dt / SMOOTH)
    p.push_distance, p.push_time, p.push_rest = section.push_distance, section.push_time, section.push_rest
    p.push_end = section.push_end


@jit
def _reset(sig, x, p):
    x.z[THETA], x.z[KAPPA], x.quiet = p.theta0, p.kappa0, EXCITED_HOLD
    for i in range(6):
        x.P[i, i] = p.P0[i]
    _copy(x.z, x.P, x.z_old, x.P_old)
    _copy(x.z, x.P, x.z_older, x.P_older)
    _publish(sig, x)


PAYLOAD_IDENTIFY = StageKind(
    "payload-identify",
    payload_identify_step,
    reads=("f_s", "x_s", "v_s"),
    writes=("m_hat", "m_var", "b_hat", "c_hat_payload", "k_grip_hat", "identify_frozen"),
    state=record(
        started="i8",
        origin="f8",
        z=6,
        P=("f8", (6, 6)),
        A=("f8", (6, 6)),
        K=6,
        f="f8",
        v="f8",
        f1="f8",
        y="f8",
        push="f8",
        quiet="f8",
        nis="f8",
        frozen="i8",
        age="f8",
        innovation="f8",
        doubt="f8",
        z_old=6,
        P_old=("f8", (6, 6)),
        z_older=6,
        P_older=("f8", (6, 6)),
    ),
    params=record(
        enabled="i8",
        direction=3,
        theta0="f8",
        kappa0="f8",
        P0=6,
        force_noise="f8",
        Q_beta="f8",
        R="f8",
        R_guard="f8",
        keep="f8",
        share_before="f8",
        share_now="f8",
        guard_share="f8",
        push_share="f8",
        smooth_share="f8",
        push_distance="f8",
        push_time="f8",
        push_rest="f8",
        push_end="f8",
    ),
    pack=_pack,
    reset=_reset,
)
PAYLOAD_PRIOR = replace(PAYLOAD_IDENTIFY, name="payload-prior", step=payload_prior_step, reads=())
