"""Steps 8 to 10 as a stage: from the simulated bodies at t + T to the robot's command.

On a line the command leads the body along the normal. In space it consists of the tip's position and the attitude; the flange
pose is computed from both, only here. F̂ does work on the bodies' own path, but the ledger of the contact records F̂
on the command's path: the difference is the twin's port.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.as_simulated import command_the_body
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.give_way import stretched, stretched_tip
from hilt.systems.docking.twin.governor import inverse, steer
from hilt.systems.docking.twin.predict import Ahead, acceleration, foresee, in_real_time
from hilt.systems.docking.twin.space.govern import steer_tip, steer_turn
from hilt.systems.docking.twin.space.lead import bend, motion_ahead
from hilt.systems.docking.twin.space.mobility import LEVERS, answers, pack_levers

STEPS, PREVIEW_STEPS = 6, 3
SHORTEST, LONGEST = 0.010, 0.025  # of the preview, s
SHORTEST_ARM = 0.1  # m: rotations are limited by the speed of a point at least this far away


@jit
def look_ahead(sig, x, frame, mass, at, v, T2, A, dt):
    """Step 8: the twin when the current command takes effect, and a preview later; the preview is constant in contact.

    The preview is long enough to brake the motion that a contact of this stiffness demands from the inverse robot.
    """
    if sig.touch == 0 or x.preview == 0.0:
        x.preview = min(max(1.8 * T2 * frame.k / mass * abs(v) / A, SHORTEST), LONGEST)
    # The velocity of the bodies is that at the middle of the tick that ends here.
    v_here = v + 0.5 * sig.clock_rate * dt * acceleration(frame, mass, at, v)
    here = Ahead(0.0, sig.clock_rate, sig.clock_slope, at, v_here, 0.0)
    there = foresee(frame, mass, here, sig.clock_aim, sig.t_d_hat, STEPS)
    return there, foresee(frame, mass, there, sig.clock_aim, x.preview, PREVIEW_STEPS)


@jit
def command_on_a_line_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    n, tip, T1, T2 = vec.load(p.n_W), vec.load(p.tip_B), sig.T1_hat, sig.T2_hat
    at, v = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, tip), vec.dot(n, sig.V_WB_sim.v)
    frame = model.frame_of(sig, sig.touch if sig.touch != 0 else 1 if v > 0.0 else -1)
    there, later = look_ahead(sig, x, frame, p.mass, at, v, T2, p.A, dt)
    now = stretched(frame, p.give, in_real_time(frame, p.mass, there))
    then = inverse(stretched(frame, p.give, in_real_time(frame, p.mass, later)), T1, T2)
    u, du = steer(sig.u_twin, sig.du_twin, now, inverse(now, T1, T2), then, T1, x.preview, p.A, p.V, dt)

    # -F̂·(path of the body - path of the command)
    ledger.book(x.port, -vec.dot(n, sig.F_hat_W), (at - sig.x_sim) - (u - sig.u_twin), 1.0)
    vec.store(sig.X_WB_cmd.p, vec.add(vec.load(sig.X_WB_sim.p), vec.scale(u - at, n)))
    vec.store(sig.V_WB_cmd.v, vec.add(vec.load(sig.V_WB_sim.v), vec.scale(du - v, n)))
    sig.r_twin, sig.u_twin, sig.du_twin = now.r, u, du
    sig.x_twin, sig.v_twin = at, v


class Bodies(NamedTuple):
    """The simulated bodies at t + T, relative to the contact normal."""

    n: Any
    q: Any
    tip: Any
    flow: Any  # velocity of the tip
    turning: Any
    travel: Any  # of the tip in this tick
    at: float  # along n
    v: float
    mass: float  # m_eff
    G_q: Any  # times m_eff
    G_w: Any


@jit
def bodies_of(sig, p):
    n, q = vec.load(sig.n_hat_W), so3.load(sig.X_WB_sim.q)
    rod = so3.rotate(q, vec.load(p.tip_B))
    tip, turning = vec.add(vec.load(sig.X_WB_sim.p), rod), vec.load(sig.V_WB_sim.w)
    flow = vec.add(vec.load(sig.V_WB_sim.v), vec.cross(turning, rod))
    travel = vec.sub(tip, vec.load(sig.p_C_des_W))
    at, v = sig.x_sim + vec.dot(n, travel), vec.dot(n, flow)
    G_q, G_w = answers(p.levers, q, tip, n)
    mass = 1.0 / vec.dot(n, G_q)
    return Bodies(n, q, tip, flow, turning, travel, at, v, mass, vec.scale(mass, G_q), vec.scale(mass, G_w))


@jit
def motions_ahead(sig, x, p, frame, bodies, dt):
    """Tip now and a preview later, rotation of the command now and later, and the current tip along n."""
    at, v, mass = bodies.at, bodies.v, bodies.mass
    # A touch demands a step of T2 r⃛, r⃛ = β³ j.
    there, later = look_ahead(sig, x, frame, mass, at, v, sig.clock_rate**3 * sig.T2_hat, p.A, dt)
    off = so3.between(so3.load(x.q), bodies.q)  # the command turns from its current attitude
    y, y2 = bend(frame, mass, there, at, v), bend(frame, mass, later, at, v)
    tip_now = stretched_tip(frame, p.give, bodies.n, there.x, motion_ahead(bodies.tip, bodies.flow, bodies.G_q, y, there))
    tip_later = stretched_tip(frame, p.give, bodies.n, later.x, motion_ahead(bodies.tip, bodies.flow, bodies.G_q, y2, later))
    turn_now = motion_ahead(off, bodies.turning, bodies.G_w, y, there)
    turn_later = motion_ahead(off, bodies.turning, bodies.G_w, y2, later)
    return tip_now, tip_later, turn_now, turn_later, there.x


@jit
def closing_speed(sig, v):
    """Closing speed along the normal, in real time [m/s]."""
    return sig.clock_rate * max(abs(v), sig.v_entry if sig.touch != 0 else 0.0)


@jit
def send(sig, x, p, bodies, c_next, dc, Q, W, r):
    """Write the next tip and attitude as the flange command."""
    # -F̂·(path of the bodies' tip - path of the command's)
    ledger.book(x.port, -vec.dot(vec.load(sig.F_hat_W), vec.sub(bodies.travel, vec.sub(c_next, vec.load(x.tip)))), 1.0, 1.0)
    vec.store(x.tip, c_next)
    vec.store(x.rate, dc)
    so3.store(x.q, Q)
    vec.store(x.turning, W)
    rod = so3.rotate(Q, vec.load(p.tip_B))
    vec.store(sig.X_WB_cmd.p, vec.sub(c_next, rod))
    so3.store(sig.X_WB_cmd.q, Q)
    vec.store(sig.V_WB_cmd.v, vec.sub(dc, vec.cross(W, rod)))
    vec.store(sig.V_WB_cmd.w, W)
    sig.r_twin, sig.x_twin, sig.v_twin = r, bodies.at, bodies.v
    sig.u_twin, sig.du_twin = vec.dot(vec.load(p.n_W), c_next), vec.dot(vec.load(p.n_W), dc)


@jit
def command_in_space_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    T1, T2, bodies = sig.T1_hat, sig.T2_hat, bodies_of(sig, p)
    frame = model.frame_of(sig, sig.touch if sig.touch != 0 else 1 if bodies.at > p.middle else -1)
    tip_now, tip_later, turn_now, turn_later, r = motions_ahead(sig, x, p, frame, bodies, dt)
    c, dc, closing = vec.load(x.tip), vec.load(x.rate), closing_speed(sig, bodies.v)
    c_next, dc = steer_tip(bodies.n, c, dc, tip_now, tip_later, closing, T1, T2, x.preview, p.A, p.V, dt)
    Q, W = steer_turn(so3.load(x.q), vec.load(x.turning), turn_now, turn_later, T1, T2, x.preview, p.A_turn, p.V_turn, dt)
    send(sig, x, p, bodies, c_next, dc, Q, W, r)


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.n_W, p.tip_B = beliefs.normal, beliefs.tip_B  # n_W: direction of the robot's identification; it stays as first believed
    p.A, p.V = beliefs.most_acceleration, beliefs.most_speed
    p.give, p.at_rest = beliefs.give, beliefs.at_rest


def _pack_on_a_line(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack(p, beliefs, loop)
    p.mass = beliefs.mass


def pack_in_space(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    _pack(p, beliefs, loop)
    pack_levers(p.levers, beliefs)
    arm = max(SHORTEST_ARM, math.hypot(*beliefs.tip_B))
    p.A_turn, p.V_turn = p.A / arm, p.V / arm
    p.middle = beliefs.middle


@jit
def _reset_on_a_line(sig, x, p):
    """The first command is the pose of the bodies; the lead becomes active in free flight."""
    command_the_body(sig)
    n, tip = vec.load(p.n_W), vec.load(p.tip_B)
    sig.x_twin = sig.u_twin = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, tip)
    sig.v_twin = sig.du_twin = vec.dot(n, sig.V_WB_sim.v) + vec.dot(n, vec.cross(vec.load(sig.V_WB_sim.w), tip))
    if p.at_rest:
        sig.du_twin = 0.0


@jit
def reset_in_space(sig, x, p):
    _reset_on_a_line(sig, x, p)
    rod = so3.rotate(so3.load(sig.X_WB_sim.q), vec.load(p.tip_B))
    vec.store(x.tip, vec.add(vec.load(sig.X_WB_sim.p), rod))
    vec.store(x.rate, vec.add(vec.load(sig.V_WB_sim.v), vec.cross(vec.load(sig.V_WB_sim.w), rod)))
    so3.store(x.q, so3.load(sig.X_WB_sim.q))
    vec.store(x.turning, vec.load(sig.V_WB_sim.w))
    if p.at_rest:
        vec.store(x.rate, (0.0, 0.0, 0.0))
        vec.store(x.turning, (0.0, 0.0, 0.0))


_READS = (
    *("X_WB_sim", "V_WB_sim", "x_sim", "F_hat_W", "touch", "clock_rate", "clock_slope", "clock_aim"),
    *("t_d_hat", "T1_hat", "T2_hat", *model.SIGNALS),
)
_WRITES = ("X_WB_cmd", "V_WB_cmd", "x_twin", "v_twin", "r_twin", "u_twin", "du_twin", "W_twin")

SPACE_READS = (*_READS, "p_C_des_W", "n_hat_W", "v_entry")
SPACE_STATE: dict[str, Any] = {"port": PORT, "preview": "f8", "tip": 3, "rate": 3, "q": 4, "turning": 3}
SPACE_PARAMS: dict[str, Any] = dict(
    **dict.fromkeys(("n_W", "tip_B"), 3),
    **dict.fromkeys(("A", "V", "A_turn", "V_turn", "middle", "give"), "f8"),
    levers=LEVERS,
    at_rest="i8",
)

COMMAND_ON_A_LINE = StageKind(
    "twin-command",
    command_on_a_line_step,
    reads=(*_READS, "u_twin", "du_twin"),
    writes=_WRITES,
    state=record(port=PORT, preview="f8"),
    params=record(n_W=3, tip_B=3, mass="f8", A="f8", V="f8", give="f8", at_rest="i8"),
    pack=_pack_on_a_line,
    reset=_reset_on_a_line,
)

COMMAND_IN_SPACE = StageKind(
    "twin-command-in-space",
    command_in_space_step,
    reads=SPACE_READS,
    writes=_WRITES,
    state=record(**SPACE_STATE),
    params=record(**SPACE_PARAMS),
    pack=pack_in_space,
    reset=reset_in_space,
)
