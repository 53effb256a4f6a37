"""Step 6 as a stage: from the two bodies at t + T to the robot's pose.

The command is the tip's position and the attitude; the flange follows from both, only here. The bodies feel F̂ on their own way,
the books of the contact book F̂ on the command's way: the difference is the twin's port.
"""

import math

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.command import PREVIEW_STEPS, STEPS, preview_of, start_on_line
from hilt.systems.docking.twin.give_way import stretched_tip
from hilt.systems.docking.twin.predict import acceleration, ahead, clock_ahead, in_real_time
from hilt.systems.docking.twin.prior import limits_of
from hilt.systems.docking.twin.space.govern import steer_tip, steer_turn
from hilt.systems.docking.twin.space.lead import bend, motion_ahead
from hilt.systems.docking.twin.space.mobility import LEVERS, answers, pack_levers

SHORTEST_ARM = 0.1  # m: turns are limited as the speed of a point so far away, at least


@jit
def command_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    n, q = vec.load(sig.n_hat_W), so3.load(sig.X_WB_sim.q)
    rod = so3.rotate(q, vec.load(p.tip_B))
    tip, turning = vec.add(vec.load(sig.X_WB_sim.p), rod), vec.load(sig.V_WB_sim.w)
    flow = vec.add(vec.load(sig.V_WB_sim.v), vec.cross(turning, rod))
    way = vec.sub(tip, vec.load(sig.p_C_des_W))
    at, v = sig.x_twin + vec.dot(n, way), vec.dot(n, flow)
    G_q, G_w = answers(p.levers, q, tip, n)
    mass = 1.0 / vec.dot(n, G_q)
    tip_bends, turn_bends = vec.scale(mass, G_q), vec.scale(mass, G_w)

    side = sig.touch if sig.touch != 0 else 1 if at > p.middle else -1
    frame = model.frame_of(sig, side)
    T1, T2, rate, slope, aim = sig.T1_hat, sig.T2_hat, sig.clock_rate, sig.clock_slope, sig.clock_aim
    if sig.touch == 0 or x.preview == 0.0:
        x.preview = preview_of(rate**3 * T2, frame.k, v, mass, p.A)  # what a touch asks at once is T2 r⃛, r⃛ = β³ j

    # The bodies' velocities belong to the middle of the tick that ends here.
    v_here = v + 0.5 * rate * dt * acceleration(frame, mass, at, v)
    Q = so3.load(x.q)
    off = so3.between(Q, q)  # the command turns from where it is
    horizon, rate, slope = clock_ahead(rate, slope, aim, sig.t_d_hat)
    curve = ahead(frame, mass, at, v_here, horizon, STEPS)
    now = in_real_time(frame, mass, curve[0], curve[1], curve[2], rate, slope)
    y = bend(now, curve, at, v, horizon, rate)
    tip_now = motion_ahead(tip, flow, tip_bends, y, horizon, rate, slope)
    tip_now = stretched_tip(frame, p.give, n, curve[0], tip_now)
    turn_now = motion_ahead(off, turning, turn_bends, y, horizon, rate, slope)
    further, rate, slope = clock_ahead(rate, slope, aim, x.preview)
    horizon += further
    curve = ahead(frame, mass, curve[0], curve[1], further, PREVIEW_STEPS)
    y = bend(in_real_time(frame, mass, curve[0], curve[1], curve[2], rate, slope), curve, at, v, horizon, rate)
    tip_later = motion_ahead(tip, flow, tip_bends, y, horizon, rate, slope)
    tip_later = stretched_tip(frame, p.give, n, curve[0], tip_later)
    turn_later = motion_ahead(off, turning, turn_bends, y, horizon, rate, slope)

    c = vec.load(x.tip)
    closing = sig.clock_rate * max(abs(v), sig.v_entry if sig.touch != 0 else 0.0)
    c_next, dc = steer_tip(n, c, vec.load(x.rate), tip_now, tip_later, closing, T1, T2, x.preview, p.A, p.V, dt)
    Q, W = steer_turn(Q, vec.load(x.turning), turn_now, turn_later, T1, T2, x.preview, p.A_turn, p.V_turn, dt)

    # -F̂·(way of the bodies' tip - way of the command's)
    ledger.book(x.port, -vec.dot(vec.load(sig.F_hat_W), vec.sub(way, vec.sub(c_next, c))), 1.0, 1.0)
    vec.store(x.tip, c_next)
    vec.store(x.rate, dc)
    so3.store(x.q, Q)
    vec.store(x.turning, W)
    rod = so3.rotate(Q, vec.load(p.tip_B))
    vec.store(sig.X_WB_cmd.p, vec.sub(c_next, rod))
    so3.store(sig.X_WB_cmd.q, Q)
    vec.store(sig.V_WB_cmd.v, vec.sub(dc, vec.cross(W, rod)))
    vec.store(sig.V_WB_cmd.w, W)
    sig.r_twin, sig.x_twin, sig.v_twin = now[0], at, v
    sig.u_twin, sig.du_twin = vec.dot(vec.load(p.n_W), c_next), vec.dot(vec.load(p.n_W), dc)


def _pack(p, scenario):
    pack_levers(p.levers, scenario)
    p.n_W = scenario.frames.n_W  # one fixed direction in which the robot is identified
    p.tip_B = scenario.rod.tip
    p.A, p.V = limits_of(scenario)
    p.give, p.at_rest = scenario.prior.give(scenario), scenario.robot.start_at_rest
    arm = max(SHORTEST_ARM, math.hypot(*scenario.rod.tip))
    p.A_turn, p.V_turn = p.A / arm, p.V / arm
    p.middle = 0.5 * sum(scenario.prior.surfaces(scenario))


@jit
def _reset(sig, x, p):
    """The first command is where the bodies are; the lead is engaged in free flight."""
    rod = so3.rotate(so3.load(sig.X_WB_sim.q), vec.load(p.tip_B))
    vec.store(x.tip, vec.add(vec.load(sig.X_WB_sim.p), rod))
    vec.store(x.rate, vec.add(vec.load(sig.V_WB_sim.v), vec.cross(vec.load(sig.V_WB_sim.w), rod)))
    so3.store(x.q, so3.load(sig.X_WB_sim.q))
    vec.store(x.turning, vec.load(sig.V_WB_sim.w))
    if p.at_rest:
        vec.store(x.rate, (0.0, 0.0, 0.0))
        vec.store(x.turning, (0.0, 0.0, 0.0))
    start_on_line(sig, p)


SIX_COMMAND = StageKind(
    "twin-six-command",
    command_step,
    reads=(
        "X_WB_sim", "V_WB_sim", "p_C_des_W", "n_hat_W", "F_hat_W", "touch", "clock_rate", "clock_slope", "clock_aim", "t_d_hat",
        "T1_hat", "T2_hat", "x_twin", "v_entry", *model.SIGNALS,
    ),
    writes=("X_WB_cmd", "V_WB_cmd", "x_twin", "v_twin", "r_twin", "u_twin", "du_twin", "W_twin"),
    state=record(port=PORT, preview="f8", tip=3, rate=3, q=4, turning=3),
    params=record(
        levers=LEVERS, n_W=3, tip_B=3, A="f8", V="f8", A_turn="f8", V_turn="f8", middle="f8", give="f8", at_rest="i8",
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
