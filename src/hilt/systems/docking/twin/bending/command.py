"""Steps 8 to 10 with a plan, on a line: for a robot that bends, and for a stiff one in real time.

At t + t_d the command u(t) takes effect. The motor's state then follows from the commands already sent. The tip's state starts
from its observer at the time of the force and is advanced over the sensor delay with stored encoder values, then with the
motor. The reference is the twin at the rows of the plan, with its own clock.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec
from hilt.systems.docking.twin import line, model
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.bending import plan
from hilt.systems.docking.twin.bending.chain import Moving, Tip, move, move_tip
from hilt.systems.docking.twin.command import command_the_body
from hilt.systems.docking.twin.contact import ENDS
from hilt.systems.docking.twin.governor import clip
from hilt.systems.docking.twin.predict import acceleration, clock_ahead

LONGEST = 0.002  # s, of a step
SMOOTHING, STIFF_SMOOTHING = 0.003, 0.002  # s, ρ^¼: a stiff robot has no mode that hard braking could excite
RIGID = Tip(0.0, 0.0, 0.0)
PARTS = 8  # of the work on the plan's derivatives, in a tick of 2 ms or less


@jit
def bending_of(sig):
    return Tip(sig.bend_k_hat, sig.bend_w_hat, sig.bend_z_hat)


@jit
def steps_over(time):
    return math.ceil(time / LONGEST - 1e-9)


@jit
def at_present(sig, x, p, tip, frame, dt):
    """The tip at t, from its observer at t - τ_p and stored encoder values."""
    at, v = sig.x_late, sig.v_late
    steps = steps_over(p.samples * dt)
    if steps == 0:
        return at, v
    h = p.samples * dt / steps
    back = p.samples
    x_m, _ = line.read(x.encoder, back, 0)
    v_m, _ = line.read(x.encoder, back, 1)
    for i in range(steps):
        back = p.samples * (steps - 1 - i) / steps
        x_m_next, _ = line.read(x.encoder, back, 0)
        v_m_next, _ = line.read(x.encoder, back, 1)
        at, v = move_tip(tip, frame, at, v, 0.5 * (x_m + x_m_next), 0.5 * (v_m + v_m_next), h)
        x_m, v_m = x_m_next, v_m_next
    return at, v


@jit
def when_it_arrives(sig, x, p, tip, frame, dt):
    """Motor and tip at t + t_d, when the command takes effect."""
    if tip.k > 0.0:
        at, v = at_present(sig, x, p, tip, frame, dt)
    else:
        at, v = sig.x_m_hat, sig.v_m_hat
    now = Moving(sig.x_m_hat, sig.v_m_hat, at, v)
    t_d, steps = sig.t_d_hat, steps_over(sig.t_d_hat)
    if steps == 0:
        return now
    h = t_d / steps
    u, _ = line.read(x.commands, t_d / dt, 0)
    for i in range(steps):
        u_next, _ = line.read(x.commands, t_d / dt * (steps - 1 - i) / steps, 0)
        now = move(tip, frame, now, sig.T1_hat, sig.T2_hat, u, u_next, h)
        u = u_next
    return now


@jit
def refer(sig, x, frame, mass, at, v, dt):
    """Compute the reference: the twin at the rows of the plan, in real time, from the body at t + T."""
    rate, slope, aim = sig.clock_rate, sig.clock_slope, sig.clock_aim
    a = acceleration(frame, mass, at, v)
    v += 0.5 * rate * dt * a  # the bodies' velocity is that at the middle of the tick that ends here
    done = 0.0
    for i in range(plan.ROWS):
        time = sig.t_d_hat + (i + 1) * plan.ROW - dt
        further, beta, _ = clock_ahead(rate, slope, aim, max(time, 0.0)) if time > 0.0 else (rate * time, rate, 0.0)
        span = further - done
        steps = 1 if i > 0 else max(1, steps_over(abs(span)))
        h = span / steps
        for _ in range(steps):
            v += 0.5 * h * a
            at += h * v
            a = acceleration(frame, mass, at, v)
            v += 0.5 * h * a
        done = further
        x.r[i], x.dr[i] = at, beta * v


@jit
def look(sig, x, p, tip, frame, start, u, du):
    """Run the current plan through the model: errors of its rows, and its set of derivatives."""
    now, T1, T2 = start, sig.T1_hat, sig.T2_hat
    inside = model.depth_in(frame, start.x) > 0.0
    changes, b = plan.ROWS, 0
    for i in range(plan.ROWS):
        if i >= plan.EDGES[b + 1]:
            b += 1
        u_next, du = u + plan.ROW * (du + 0.5 * plan.ROW * x.plan.a[b]), du + plan.ROW * x.plan.a[b]
        now = move(tip, frame, now, T1, T2, u, u_next, plan.ROW)
        u = u_next
        if changes == plan.ROWS and (model.depth_in(frame, now.x) > 0.0) != inside:
            changes = i
        w = plan.weight(i)
        x.e[i], x.de[i] = w * (now.x - x.r[i]), w * plan.SPEED_TIME**2 * (now.v - x.dr[i])
    if frame.known == model.UNSEEN:
        return x.sets.sets[plan.PLACES - 1]  # no contact
    return x.sets.sets[plan.which(inside, changes)]


@jit
def descend(x, made, rho):
    """Compute the gradient."""
    for b in range(plan.BLOCKS):
        x.g[b] = rho * (plan.EDGES[b + 1] - plan.EDGES[b]) * x.plan.a[b]
    for i in range(plan.ROWS):
        e, de = x.e[i], x.de[i]
        for b in range(plan.BLOCKS):
            x.g[b] += made.S[i, b] * e + made.dS[i, b] * de


@jit
def move_on(x, p):
    """Shift the last plan by one tick."""
    for b in range(plan.BLOCKS):
        total = 0.0
        for d in range(plan.BLOCKS):
            total += p.shift[b, d] * x.plan.a[d]
        x.step[b] = total
    for b in range(plan.BLOCKS):
        x.plan.a[b] = x.step[b]


@jit
def steer(sig, x, p, V, dt):
    """(u, u̇) one tick ahead."""
    u, du, a = sig.u_twin, sig.du_twin, 0.0
    for b in range(plan.BLOCKS):
        a += p.first[b] * x.plan.a[b]
    a = clip(a, p.A) if math.isfinite(a) else 0.0
    du_next = clip(du + dt * a, V)
    return u + 0.5 * dt * (du + du_next), du_next


@jit
def remember(sig, x, n):
    """Store encoders and command along n."""
    line.push(x.encoder, vec.dot(n, sig.p_C_W), vec.dot(n, sig.v_C_W))
    line.push(x.commands, sig.u_twin, 0.0)


@jit
def planned(sig, x, p, tip, frame, mass, at, v, relearnt, V, dt):
    """(u, u̇) one tick ahead, for a body of `mass` at (at, v) along the normal; `relearnt`: bending or frame has changed."""
    if relearnt:
        plan.begin(x.sets, tip, frame, sig.T1_hat, sig.T2_hat)
    plan.go_on(x.sets, p.rho, p.parts if x.ready else plan.PARTS * 2 * plan.PLACES)  # all at once before the first motion
    x.ready = 1
    start = when_it_arrives(sig, x, p, tip, frame, dt)
    refer(sig, x, frame, mass, at, v, dt)
    move_on(x, p)
    made = look(sig, x, p, tip, frame, start, sig.u_twin, sig.du_twin)
    descend(x, made, p.rho)
    plan.improve(x.plan.a, x.g, x.step, made, p.A, x.work)
    return steer(sig, x, p, V, dt)


@jit
def command_planned_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    n = vec.load(p.n_W)
    at, v = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, p.tip_B), vec.dot(n, sig.V_WB_sim.v)
    remember(sig, x, n)
    tip = bending_of(sig) if p.bends else RIGID
    frame = model.frame_of(sig, sig.touch if sig.touch != 0 else 1 if v > 0.0 else -1)
    relearnt = sig.learnt != 0 if p.bends else sig.touch_event == ENDS
    u, du = planned(sig, x, p, tip, frame, p.mass, at, v, relearnt, p.V, dt)

    # -F̂·(path of the body - path of the command)
    ledger.book(x.port, -vec.dot(n, sig.F_hat_W), (at - sig.x_sim) - (u - sig.u_twin), 1.0)
    vec.store(sig.X_WB_cmd.p, vec.add(vec.load(sig.X_WB_sim.p), vec.scale(u - at, n)))
    vec.store(sig.V_WB_cmd.v, vec.add(vec.load(sig.V_WB_sim.v), vec.scale(du - v, n)))
    sig.r_twin, sig.u_twin, sig.du_twin = x.r[0], u, du
    sig.x_twin, sig.v_twin = at, v


def pack_plan(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.samples, p.dt = beliefs.sensor_delay / loop.period, loop.period
    p.shift, p.first = plan.shifts(loop.period), plan.first(loop.period)
    p.parts = max(1, round(PARTS * max(loop.period, LONGEST) / LONGEST))
    bending = beliefs.bending
    p.rho, p.lag = (STIFF_SMOOTHING if bending is None else SMOOTHING) ** 4, beliefs.robot.lag
    if bending is not None:
        p.tip = (bending.stiffness, bending.frequency, bending.damping_ratio)
    p.motor, p.stiffness = (beliefs.robot.T1, beliefs.robot.T2), beliefs.stiffness
    p.back = max(p.samples, (1.6 * beliefs.robot.t_d + 3e-3) / loop.period) + 1.0


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    pack_plan(p, beliefs, loop)
    p.n_W, p.tip_B, p.at_rest = beliefs.normal, beliefs.tip_B, beliefs.at_rest
    p.A, p.V, p.mass = beliefs.most_acceleration, beliefs.most_speed, beliefs.mass
    p.bends = beliefs.bending is not None


@jit
def reset_plan(sig, x, p):
    """Start as if the robot had always moved as in the first command; no frame is known."""
    v = sig.du_twin
    frame = model.Frame(1.0, model.UNSEEN, model.LINEAR, p.stiffness, 0.0, 0.0, 0.0)
    plan.begin(x.sets, Tip(p.tip[0], p.tip[1], p.tip[2]), frame, p.motor[0], p.motor[1])
    line.fill(x.commands, sig.u_twin - p.dt * v, v, p.dt)
    line.fill(x.encoder, sig.u_twin - (p.dt + p.lag) * v, v, p.dt)


@jit
def _reset(sig, x, p):
    """The first command is the pose of the bodies; the lead becomes active in free flight."""
    command_the_body(sig)
    n, tip = vec.load(p.n_W), vec.load(p.tip_B)
    sig.x_twin = sig.u_twin = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, tip)
    sig.v_twin = sig.du_twin = vec.dot(n, sig.V_WB_sim.v)
    if p.at_rest:
        sig.du_twin = 0.0
    reset_plan(sig, x, p)


_READS = (
    *(
        "X_WB_sim",
        "V_WB_sim",
        "x_sim",
        "F_hat_W",
        "touch",
        "touch_event",
        "p_C_W",
        "v_C_W",
        "clock_rate",
        "clock_slope",
        "clock_aim",
    ),
    *("t_d_hat", "T1_hat", "T2_hat", "x_m_hat", "v_m_hat", *model.SIGNALS, "u_twin", "du_twin"),
)

_WRITES = ("X_WB_cmd", "V_WB_cmd", "x_twin", "v_twin", "r_twin", "u_twin", "du_twin", "W_twin")
BENDING_READS = (*_READS, "x_late", "v_late", "learnt", "bend_k_hat", "bend_w_hat", "bend_z_hat")
PLAN_STATE: dict[str, Any] = dict(
    ready="i8",
    encoder=line.PAIR_LINE,
    commands=line.PAIR_LINE,
    plan=plan.PLAN,
    sets=plan.SETS,
    work=plan.WORK,
    **dict.fromkeys(("r", "dr", "e", "de"), plan.ROWS),
    **dict.fromkeys(("g", "step"), plan.BLOCKS),
)
PLAN_PARAMS: dict[str, Any] = dict(
    **dict.fromkeys(("samples", "dt", "rho", "lag", "back", "stiffness"), "f8"),
    parts="i8",
    tip=3,
    motor=2,
    shift=("f8", (plan.BLOCKS, plan.BLOCKS)),
    first=plan.BLOCKS,
)

COMMAND_BENDING = StageKind(
    "twin-command-bending",
    command_planned_step,
    reads=BENDING_READS,
    writes=_WRITES,
    state=record(port=PORT, **PLAN_STATE),
    params=record(
        **PLAN_PARAMS,
        **dict.fromkeys(("n_W", "tip_B"), 3),
        **dict.fromkeys(("mass", "A", "V"), "f8"),
        **dict.fromkeys(("at_rest", "bends"), "i8"),
    ),
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: p["back"],
)

COMMAND_PLANNED = replace(COMMAND_BENDING, name="twin-command-planned", reads=_READS)
