"""Step 5, second half: the measured energy loss in the real frame sets the speed at which the simulated body leaves.

    W += ½ (F + F⁻) Δx' e                                  work at the real port
    c = (W + spring energy at both ends) / ∫v'² dt         damping that explains it, for the robot's own motion
    λ = 1 - e²(ζ),   ζ = c/(2√(k m))                       loss of the bodies in space with the same damping
    λ = Σ(λ K²/var) / Σ(K²/var),   K = ½ m v_in²           all contacts with this frame, weighted by their information

The robot arrives late, with another clock and within limits, so its loss differs from that of the bodies; the damping is the
same. Everything is summed between samples that are certainly inside the frame: the samples at the touch and at the exit may
average values inside and outside. The spring energy there is known from the frame's model.

A loss that noise or a wrong sensor delay could explain is treated as zero: λ = 0 below √((3σ_λ)² + λ_τ²), where
λ_τ = πω(0.03 τ_p + 20 µs) is the apparent loss from a wrong delay, at most 0.003: less than 1 % of the speed after five
collisions.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.contact import BEGINS, ENDS

FLOOR = 3e-4  # of the kinetic energy: no balance is more accurate
MOST_FROM_DELAY = 0.003  # of the kinetic energy
APART = 4.0  # the robot's ∫v² dt and that in space differ by at most this factor
MOST_DAMPED = 0.7  # ζ


@jit
def _damping(frame, kept, v2, v_exit):
    """c of a frame that kept this energy: kept = c ∫v² dt + ½ k δ²; contact ends at F = 0, at a depth of δ = c v/k."""
    held = 2.0 * v_exit * v_exit / frame.k if frame.model == model.LINEAR and kept > 0.0 else 0.0
    return 2.0 * kept / (v2 + math.sqrt(v2 * v2 + held * kept))


@jit
def lost(zeta):
    """λ = 1 - e²,  e² = exp(-2ζ/√(1-ζ²) (π - ∠(1 - 2ζ² + j 2ζ√(1-ζ²)))); 2πζ to first order."""
    if zeta <= 0.0:
        return 2.0 * math.pi * zeta
    zeta = min(zeta, MOST_DAMPED)
    root = math.sqrt(1.0 - zeta * zeta)
    return 1.0 - math.exp(-2.0 * zeta / root * (math.pi - math.atan2(2.0 * zeta * root, 1.0 - 2.0 * zeta * zeta)))


@jit
def weight_of(variance):
    """Information of one energy balance about λ."""
    return 1.0 / max(variance, FLOOR * FLOOR)


@jit
def least_detectable(weight, sensor_delay, omega):
    """Smallest λ that neither noise nor a wrong sensor delay can explain."""
    from_delay = math.pi * omega * (0.03 * sensor_delay + 20e-6)
    return math.hypot(3.0 / math.sqrt(weight), min(from_delay, MOST_FROM_DELAY))


@jit
def pooled(pool, sensor_delay, omega):
    """λ of a frame from all its energy balances."""
    if pool.weight == 0.0:
        return 0.0
    share = pool.weighted / pool.weight
    return min(share, 1.0) if share > least_detectable(pool.weight, sensor_delay, omega) else 0.0


@jit
def _remember(sig, x):
    x.W_inside, x.at_exit, x.v_exit = x.W, sig.x_late, sig.v_late


@jit
def _count(sig, x, p, frame, dt):
    """Add one sample to work, its variance and ∫v'² dt, starting at the second sample, which is certainly inside."""
    if not x.begun:
        x.begun, x.at = 1, sig.x_late
        x.W = x.variance = x.v2 = 0.0
        _remember(sig, x)
        return
    moved, step = sig.x_late - x.last_at, sig.F_n - x.last_force
    x.W += 0.5 * (sig.F_n + x.last_force) * moved
    noise = p.force_noise if sig.fresh else p.threshold  # for a lost sample the twin's force is used
    x.variance += (noise * moved) ** 2 + (p.position_noise * step) ** 2
    x.v2 += model.v2_in_contact(frame, x.last_at, sig.x_late, 0.5 * (sig.v_late + x.last_rate))
    if model.depth_in(frame, sig.x_late) - model.left_at(frame, sig.v_late) > abs(sig.v_late) * dt:
        _remember(sig, x)


@jit
def _settle(sig, x, pool, frame):
    """Compute the energy balance of a finished contact."""
    kinetic = 0.5 * sig.m_eff * sig.v_entry * sig.v_entry
    if not (kinetic > 0.0 and x.begun and x.v2 > 0.0):
        return
    rest = model.depth_in(frame, x.at_exit) - model.left_at(frame, x.v_exit)
    kept = x.W_inside + model.stored(frame, model.depth_in(frame, x.at)) - model.stored(frame, max(0.0, rest))
    free = model.v2_in_space(frame, sig.m_eff, sig.v_entry)
    per_damping = min(max(free, x.v2 / APART), x.v2 * APART) / kinetic  # 2πζ = c ∫v² dt/K
    share = lost(_damping(frame, kept, x.v2, x.v_exit) * per_damping / (2.0 * math.pi))
    weight = weight_of(x.variance * (per_damping / x.v2) ** 2)
    pool.weighted += weight * share
    pool.weight += weight


@jit
def balance_step(sig, x, p, dt):
    if sig.touch_event == BEGINS:
        x.e, x.begun = float(sig.touch), 0
    elif sig.touch != 0 or sig.touch_event == ENDS:
        _count(sig, x, p, model.frame_of(sig, int(x.e)), dt)
    x.last_at, x.last_rate, x.last_force = sig.x_late, sig.v_late, sig.F_n
    if sig.touch_event == ENDS:
        frame, pool = model.frame_of(sig, int(x.e)), x.pools[model.place_of(x.e)]
        _settle(sig, x, pool, frame)
        sig.loss = pooled(pool, p.sensor_delay, math.sqrt(frame.k / sig.m_eff))
    sig.W_measured = x.W


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.force_noise, p.threshold, p.position_noise = beliefs.force_noise, beliefs.threshold, beliefs.position_noise
    p.sensor_delay = beliefs.sensor_delay


TWIN_BALANCE = StageKind(
    "twin-balance",
    balance_step,
    reads=(
        *("touch", "touch_event", "fresh", "F_n", "x_late", "v_late", "v_entry", "loss", "m_eff"),
        *model.SIGNALS,
    ),
    writes=("W_measured", "loss"),
    state=record(
        **dict.fromkeys(("e", "at", "last_at", "last_rate", "last_force"), "f8"),
        **dict.fromkeys(("W", "variance", "v2", "W_inside", "at_exit", "v_exit"), "f8"),
        begun="i8",
        pools=(record(weighted="f8", weight="f8"), (2,)),
    ),
    params=record(force_noise="f8", threshold="f8", position_noise="f8", sensor_delay="f8"),
    pack=_pack,
)
