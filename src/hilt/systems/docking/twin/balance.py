"""Step 5, second half: the energy kept by the real frame, as measured, sets the speed at which the simulated body leaves.

    W += ½ (F + F⁻) Δx' e                                  work at the real port
    loss = W + c (∫v² dt_b - ∫v'² dt) + work before the contact was felt
    λ = Σ(loss·K/var) / Σ(K²/var),   K = ½ m v_in²         all contacts with this frame, weighted by their information

A loss that noise or a wrong sensor delay could explain is treated as zero: λ = 0 below 3σ_λ + πω(0.03 τ_p + 20 µs).
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


@jit
def _work_before(frame, depth, speed, force):
    """Before the force exceeded the threshold the tip went `depth` into the frame."""
    if frame.model == model.HERTZ:
        return 0.4 * force * depth
    return (0.5 * frame.k * depth + frame.c * speed) * depth


@jit
def close(pool, p, loss, variance, kinetic, omega):
    """λ of a frame after one more balance."""
    variance = max(variance, (FLOOR * kinetic) ** 2)
    pool.weighted += loss * kinetic / variance
    pool.weight += kinetic * kinetic / variance
    share = pool.weighted / pool.weight
    least = 3.0 / math.sqrt(pool.weight) + math.pi * omega * (0.03 * p.sensor_delay + 20e-6)
    return min(share, 1.0) if share > least else 0.0


@jit
def balance_step(sig, x, p, dt):
    if sig.touch_event == BEGINS:
        x.e, x.at, x.speed, x.force = float(sig.touch), sig.x_late, abs(sig.v_late), abs(sig.F_n)
        x.W = x.variance = x.v2 = 0.0
        # A body that met an unknown frame is counted from here; how deep it already was is known at the end.
        x.body_at, x.body_speed = sig.x_sim, abs(sig.v_sim) if sig.v2_twin == 0.0 else 0.0
    elif sig.touch != 0 or sig.touch_event == ENDS:
        moved, step = sig.x_late - x.last_at, sig.F_n - x.last_force
        x.W += 0.5 * (sig.F_n + x.last_force) * moved
        x.variance += (p.force_noise * moved) ** 2 + (p.position_noise * step) ** 2
        if model.force(model.frame_of(sig, int(x.e)), sig.x_late, sig.v_late) > 0.0:
            x.v2 += sig.v_late * sig.v_late * dt
    x.last_at, x.last_force = sig.x_late, sig.F_n
    if sig.touch_event == ENDS:
        frame = model.frame_of(sig, int(x.e))
        depth = max(0.0, (x.at - frame.surface) * x.e)
        kinetic = 0.5 * sig.m_eff * sig.v_entry * sig.v_entry
        loss = x.W + _work_before(frame, depth, x.speed, x.force)
        v2_body = sig.v2_twin + x.body_speed * max(0.0, (x.body_at - frame.surface) * x.e)
        loss += frame.c * (v2_body - (x.v2 + x.speed * depth))
        if kinetic > 0.0:
            sig.loss = close(x.pools[model.place_of(x.e)], p, loss, x.variance, kinetic, math.sqrt(frame.k / sig.m_eff))
    sig.W_measured = x.W


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.force_noise, p.position_noise, p.sensor_delay = beliefs.force_noise, beliefs.position_noise, beliefs.sensor_delay


TWIN_BALANCE = StageKind(
    "twin-balance",
    balance_step,
    reads=(
        *("touch", "touch_event", "F_n", "x_late", "v_late", "x_sim", "v_sim", "v_entry", "v2_twin", "loss", "m_eff"),
        *model.SIGNALS,
    ),
    writes=("W_measured", "loss"),
    state=record(
        **dict.fromkeys(("e", "at", "speed", "force", "last_at", "last_force"), "f8"),
        **dict.fromkeys(("W", "variance", "v2", "body_at", "body_speed"), "f8"),
        pools=(record(weighted="f8", weight="f8"), (2,)),
    ),
    params=record(force_noise="f8", position_noise="f8", sensor_delay="f8"),
    pack=_pack,
)
