"""Steps 8 to 10 as a stage: from the simulated body at t + T to the robot's set-point.

The set-point is ahead of the body along the normal. The bodies feel F̂ on their own way, the books of the contact book F̂ on the
command's way: the difference is the twin's port.
"""

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import StageKind
from hilt.maths import vec
from hilt.systems.docking.as_simulated import command_the_body
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.give_way import stretched
from hilt.systems.docking.twin.governor import inverse, steer
from hilt.systems.docking.twin.predict import acceleration, ahead, clock_ahead, in_real_time
from hilt.systems.docking.twin.prior import limits_of

STEPS, PREVIEW_STEPS = 6, 3
SHORTEST, LONGEST = 0.010, 0.025  # of the preview, s


@jit
def preview_of(T2, k, v, mass, A):
    """Long enough to brake what a contact of stiffness k asks of the inverse robot."""
    return min(max(1.8 * T2 * k / mass * abs(v) / A, SHORTEST), LONGEST)


@jit
def command_step(sig, x, p, dt):
    ledger.publish(sig.W_twin, x.port)
    n = vec.load(p.n_W)
    tip = vec.load(p.tip_B)
    at, v = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, tip), vec.dot(n, sig.V_WB_sim.v)
    side = sig.touch if sig.touch != 0 else 1 if v > 0.0 else -1
    frame = model.frame_of(sig, side)
    rate, slope, aim = sig.clock_rate, sig.clock_slope, sig.clock_aim
    T1, T2 = sig.T1_hat, sig.T2_hat
    if sig.touch == 0 or x.preview == 0.0:
        x.preview = preview_of(T2, frame.k, v, p.mass, p.A)

    # The body's velocity belongs to the middle of the tick that ends here.
    v_here = v + 0.5 * rate * dt * acceleration(frame, p.mass, at, v)
    horizon, rate, slope = clock_ahead(rate, slope, aim, sig.t_d_hat)
    y, dy, ddy = ahead(frame, p.mass, at, v_here, horizon, STEPS)
    now = in_real_time(frame, p.mass, y, dy, ddy, rate, slope)
    horizon, rate, slope = clock_ahead(rate, slope, aim, x.preview)
    y, dy, ddy = ahead(frame, p.mass, y, dy, horizon, PREVIEW_STEPS)
    later = in_real_time(frame, p.mass, y, dy, ddy, rate, slope)
    now, later = stretched(frame, p.give, now), stretched(frame, p.give, later)

    u, du = steer(sig.u_twin, sig.du_twin, now, inverse(now, T1, T2), inverse(later, T1, T2), T1, x.preview, p.A, p.V, dt)
    # -F̂·(way of the body - way of the command)
    ledger.book(x.port, -vec.dot(n, sig.F_hat_W), (at - sig.x_twin) - (u - sig.u_twin), 1.0)
    vec.store(sig.X_WB_cmd.p, vec.add(vec.load(sig.X_WB_sim.p), vec.scale(u - at, n)))
    vec.store(sig.V_WB_cmd.v, vec.add(vec.load(sig.V_WB_sim.v), vec.scale(du - v, n)))
    sig.r_twin, sig.u_twin, sig.du_twin = now[0], u, du
    sig.x_twin, sig.v_twin = at, v


def _pack(p, scenario):
    p.n_W = scenario.frames.n_W
    p.tip_B = scenario.rod.tip
    p.mass = scenario.reduced_mass
    p.A, p.V = limits_of(scenario)
    p.give, p.at_rest = scenario.prior.give(scenario), scenario.robot.start_at_rest


@jit
def start_on_line(sig, p):
    """Body and command begin at the same place on the line through the frames."""
    command_the_body(sig)
    n, tip = vec.load(p.n_W), vec.load(p.tip_B)
    sig.x_twin = sig.u_twin = vec.dot(n, sig.X_WB_sim.p) + vec.dot(n, tip)
    sig.v_twin = sig.du_twin = vec.dot(n, sig.V_WB_sim.v) + vec.dot(n, vec.cross(vec.load(sig.V_WB_sim.w), tip))
    if p.at_rest:
        sig.du_twin = 0.0


@jit
def _reset(sig, x, p):
    """The first command is where the body is; the lead is engaged in free flight."""
    start_on_line(sig, p)


TWIN_COMMAND = StageKind(
    "twin-command",
    command_step,
    reads=(
        "X_WB_sim", "V_WB_sim", "F_hat_W", "touch", "clock_rate", "clock_slope", "clock_aim", "t_d_hat", "T1_hat", "T2_hat",
        "x_twin", "v_twin", "u_twin", "du_twin",
        *model.SIGNALS,
    ),
    writes=("X_WB_cmd", "V_WB_cmd", "x_twin", "v_twin", "r_twin", "u_twin", "du_twin", "W_twin"),
    state=record(port=PORT, preview="f8"),
    params=record(n_W=3, tip_B=3, mass="f8", A="f8", V="f8", give="f8", at_rest="i8"),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
