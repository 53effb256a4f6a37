"""Step 6: the virtual clock. Near an unknown frame it runs slower, by the β of the rehearsal; the slip is reported.

A slower clock does not change the contact itself, but the robot, which reacts late, travels less before it reacts. The clock
slows down before the touch and returns to real time after it, more gently. In mode realtime β is always 1.

In space the effective mass of a contact, and so its frequency ω = √(k/m_eff), changes from touch to touch:
    unseen frame: β = β_G min(1, ω_0/ω)                    β_G rehearsed for the first touch, ω_0 its frequency
    known frame:  β_K = largest b with b H(bω) |v_n| ≤ 0.75 V and b² H(bω) ω |v_n| ≤ 0.5 A,   H(x) = |1 - T2 x² + j T1 x|
β_K is the fastest clock that the robot can follow: H is the gain of its inverse at the contact frequency. For a robot that
bends it is multiplied by |1 + k/K_f - (x/ω_f)²|, because the motors must move further by the deflection of the tip. There also
b ω ≤ 0.7 ω_f: near its mode the tip swings on its own, and errors in the modelled mode show in the force. A known frame whose
position is uncertain because its normal is uncertain is treated like an unseen one. Rotation may move the tip faster than the
bodies approach: the clock limits it to 0.9 V.
"""

import math
from dataclasses import replace
from typing import Protocol

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs

IN_FLIGHT, AFTER_TOUCH = 8.0, 3.0  # 1/s
TOLERANCE, NOTICE = 1e-3, 0.070  # m, s; a robot with ζ = 0.5 needs this time to settle after the clock has slowed down
SETTLED, FOLLOWED = 0.060, 0.140  # s before the surface
OF_SPEED, OF_ACCELERATION = 0.75, 0.5
OF_FLIGHT = 0.9  # of V
OF_MODE = 0.7  # of ω_f
IN_DOUBT = 0.03  # of the peak force
LEAST, FINENESS = 0.2, 0.02
STIFF = (0.0, 0.0)  # 1/K_f, ω_f^-2


@jit
def go_on(sig, x, aim, dt):
    """Advance by one tick and move the clock rate towards `aim`."""
    x.slip += (1.0 - sig.clock_rate) * dt
    most = (AFTER_TOUCH if sig.touch != 0 else IN_FLIGHT) * dt
    change = min(max(aim - sig.clock_rate, -most), most)
    sig.clock_rate += change
    sig.clock_slope = change / dt
    sig.clock_aim = aim
    sig.time_slip = x.slip


@jit
def _aim_on_a_line(sig, p):
    i = model.place_of(1 if sig.v_sim > 0.0 else -1)
    near = abs(sig.x_sim - p.surfaces[i]) < TOLERANCE + NOTICE * abs(sig.v_sim)
    return p.guarded if near and sig.frame_known[i] != model.KNOWN and sig.touch == 0 else 1.0


@jit
def follows(b, omega, speed, T1, T2, A, V, bend):
    """Whether the robot can follow an oscillation of frequency bω that starts at b·speed; `bend` is (k/K_f, ω_f^-2)."""
    x = b * omega
    if bend[1] * x * x > OF_MODE * OF_MODE:
        return False
    grown = math.hypot(1.0 - T2 * x * x, T1 * x) * abs(1.0 + bend[0] - bend[1] * x * x)
    return b * grown * speed <= OF_SPEED * V and b * grown * x * speed <= OF_ACCELERATION * A


@jit
def followed_clock(omega, speed, T1, T2, A, V, bend):
    """β_K."""
    b = 1.0
    while b > LEAST and not follows(b, omega, speed, T1, T2, A, V, bend):
        b -= FINENESS
    return b


@jit
def notice(b):
    """Virtual time [s] before a surface at which the clock must start slowing down to be settled at the touch."""
    return 0.5 * (1.0 - b * b) / IN_FLIGHT + SETTLED * b


@jit
def _aim_at_frame(sig, p, bend):
    """Clock rate required by the frame in contact or ahead."""
    e = sig.touch if sig.touch != 0 else 1 if sig.x_sim > p.middle else -1
    i = model.place_of(e)
    speed, mass = abs(sig.v_sim), sig.m_eff if sig.m_eff > 0.0 else p.mass
    omega, bend = math.sqrt(sig.frame_k[i] / mass), (sig.frame_k[i] * bend[0], bend[1])
    if sig.touch != 0:
        return followed_clock(omega, sig.v_entry, sig.T1_hat, sig.T2_hat, p.A, p.V, bend)
    if not sig.v_sim * e > 0.0:
        return 1.0  # moving towards the other frame, which is far away
    if sig.frame_known[i] == model.KNOWN and sig.doubt <= IN_DOUBT * speed / omega:
        near = (sig.frame_s[i] - sig.x_sim) * e < FOLLOWED * speed
        return followed_clock(omega, speed, sig.T1_hat, sig.T2_hat, p.A, p.V, bend) if near else 1.0
    b = p.guarded * min(1.0, p.omega / omega)
    return b if abs(sig.frame_s[i] - sig.x_sim) < TOLERANCE + 2.0 * sig.doubt + notice(b) * speed else 1.0


@jit
def _aim_in_space(sig, p, bend):
    speed = math.sqrt(vec.dot(vec.load(sig.v_C_des_W), vec.load(sig.v_C_des_W)))
    return min(_aim_at_frame(sig, p, bend), OF_FLIGHT * p.V / max(speed, OF_FLIGHT * p.V))


@jit
def clock_on_a_line_step(sig, x, p, dt):
    go_on(sig, x, 1.0 if p.realtime else _aim_on_a_line(sig, p), dt)


@jit
def clock_in_space_step(sig, x, p, dt):
    go_on(sig, x, 1.0 if p.realtime else _aim_in_space(sig, p, STIFF), dt)


@jit
def clock_bending_in_space_step(sig, x, p, dt):
    bend = 1.0 / sig.bend_k_hat, 1.0 / (sig.bend_w_hat * sig.bend_w_hat)
    go_on(sig, x, 1.0 if p.realtime else _aim_in_space(sig, p, bend), dt)


def _pack_on_a_line(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.realtime = beliefs.realtime
    p.surfaces = beliefs.surfaces


def _pack_in_space(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.realtime = beliefs.realtime
    p.mass = beliefs.first_mass
    p.omega = math.sqrt(beliefs.stiffness / p.mass)
    p.A, p.V = beliefs.most_acceleration, beliefs.most_speed
    p.middle = beliefs.middle


class Rehearsed(Protocol):
    def clock(self) -> float: ...


def _pack_rehearsed(p: np.record, rehearsed: Rehearsed | None) -> None:
    p.guarded = rehearsed.clock() if rehearsed is not None else 1.0


@jit
def _reset(sig, x, p):
    sig.clock_rate = 1.0
    sig.clock_aim = 1.0


_WRITES = ("clock_rate", "clock_slope", "clock_aim", "time_slip")
_STATE = record(slip="f8")

CLOCK_ON_A_LINE = StageKind(
    "twin-clock",
    clock_on_a_line_step,
    reads=("x_sim", "v_sim", "frame_known", "touch", "clock_rate"),
    writes=_WRITES,
    state=_STATE,
    params=record(guarded="f8", realtime="i8", surfaces=2),
    pack=_pack_on_a_line,
    pack_late=_pack_rehearsed,
    reset=_reset,
)

CLOCK_IN_SPACE = StageKind(
    "twin-clock-in-space",
    clock_in_space_step,
    reads=(
        *("x_sim", "v_sim", "v_C_des_W", "v_entry", "m_eff", "doubt", "frame_known", "frame_k", "frame_s", "touch"),
        *("clock_rate", "T1_hat", "T2_hat"),
    ),
    writes=_WRITES,
    state=_STATE,
    params=record(guarded="f8", realtime="i8", mass="f8", omega="f8", A="f8", V="f8", middle="f8"),
    pack=_pack_in_space,
    pack_late=_pack_rehearsed,
    reset=_reset,
)

CLOCK_BENDING_IN_SPACE = replace(
    CLOCK_IN_SPACE,
    name="twin-clock-bending-in-space",
    step=clock_bending_in_space_step,
    reads=(*CLOCK_IN_SPACE.reads, "bend_k_hat", "bend_w_hat"),
)
