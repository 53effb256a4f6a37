"""Steps 1 and 3: what is measured and what is simulated, along the normal of the frame that is felt or ahead.

The encoder is read at t - τ_p as in one degree of freedom, the whole tip; normals are learnt here because every number along
them must belong to one and the same n for a tick. The row's simulated tip is the bodies', not the command's.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import delay, so3, vec
from hilt.systems.docking.twin import model
from hilt.systems.docking.twin.contact import BEGINS, ENDS
from hilt.systems.docking.twin.sense import felt
from hilt.systems.docking.twin.space import planes, point


@jit
def _finite(a):
    return math.isfinite(a[0]) and math.isfinite(a[1]) and math.isfinite(a[2])


@jit
def learn_normal(sig, x, p, late):
    """Step 9, on what the last tick made of the contact."""
    if sig.touch != 0:
        plane = x.planes[model.place_of(sig.touch)]
        if sig.touch_event == BEGINS:
            planes.anchor(plane, late)
        planes.turn_to_force(plane, vec.load(x.force), p.force_noise, p.threshold)
    elif sig.touch_event == ENDS:
        i = model.place_of(x.side)
        planes.turn_to_places(x.planes[i], sig.frame_s[i])


@jit
def sense_step(sig, x, p, dt):
    if _finite(sig.F_mea_W):
        vec.store(x.force, vec.load(sig.F_mea_W))
    if _finite(sig.p_C_W) and _finite(sig.v_C_W):
        vec.store(x.at, vec.load(sig.p_C_W))
        vec.store(x.rate, vec.load(sig.v_C_W))
    delay.push_wrench(x.line, vec.load(x.at), vec.load(x.rate))
    late = delay.read(x.line, p.samples, 0)
    learn_normal(sig, x, p, late)
    force, tau = vec.load(x.force), so3.rotate(so3.load(p.q_WS), vec.load(sig.F_So_filt_S.tau))
    if sig.touch != 0 and abs(sig.F_n) > planes.FELT * p.threshold and _finite(tau):
        arm = vec.sub(late, vec.load(p.sensor_W))
        vec.store(sig.tip_offset_B, point.learn(x.point, force, tau, arm, so3.load(sig.X_WB_meas.q)))

    tip, v = vec.load(sig.p_C_des_W), vec.load(sig.v_C_des_W)
    x.side = sig.touch if sig.touch != 0 else 1 if planes.along(x.planes[model.place_of(x.side)], tip) > p.middle else -1
    plane = x.planes[model.place_of(x.side)]
    n = vec.load(plane.n)
    vec.store(sig.n_hat_W, n)
    sig.F_n = vec.dot(n, force)
    sig.x_late, sig.v_late = planes.along(plane, late), vec.dot(n, delay.read(x.line, p.samples, 3))
    felt(sig, p.give)
    sig.x_twin, sig.v_twin = planes.along(plane, tip), vec.dot(n, v)
    away = vec.sub(tip, vec.load(plane.a))
    sig.doubt = math.sqrt(plane.variance * vec.dot(away, away))


def _pack(p, scenario):
    dt, v = scenario.loop.period, scenario.approach.velocity
    p.tip_B = scenario.rod.tip
    p.sensor_W, p.q_WS = scenario.sensor.position, scenario.sensor.attitude
    p.n_W = scenario.prior.normal(scenario)
    p.variance = scenario.prior.normal_doubt**2
    p.samples = scenario.assumed_sensor_delay / dt
    p.give, p.at_rest = scenario.prior.give(scenario), scenario.robot.start_at_rest
    p.force_noise, p.threshold = max(scenario.sensor.noise, 1e-3), scenario.force_threshold
    p.middle = 0.5 * sum(scenario.prior.surfaces(scenario))
    p.dt, p.behind = dt, dt + scenario.prior.robot(scenario).lag
    p.side = 1 if sum(n * a for n, a in zip(p.n_W, v, strict=True)) > 0 else -1


@jit
def _reset(sig, x, p):
    rod = vec.load(p.tip_B)
    tip = vec.add(vec.load(sig.X_WB_sim.p), rod)
    v = vec.add(vec.load(sig.V_WB_sim.v), vec.cross(vec.load(sig.V_WB_sim.w), rod))
    if p.at_rest:
        v = (0.0, 0.0, 0.0)
    for i in range(2):
        plane = x.planes[i]
        vec.store(plane.n, vec.load(p.n_W))
        vec.store(plane.a, tip)
        plane.h, plane.variance = p.middle, p.variance
    vec.store(sig.n_hat_W, vec.load(p.n_W))
    x.side = p.side
    vec.store(x.at, vec.sub(tip, vec.scale(p.behind, v)))
    vec.store(x.rate, v)
    for age in range(delay.CAPACITY - 1, -1, -1):
        delay.push_wrench(x.line, vec.sub(vec.load(x.at), vec.scale(age * p.dt, v)), v)


SIX_SENSE = StageKind(
    "twin-six-sense",
    sense_step,
    reads=(
        "F_mea_W", "F_So_filt_S", "X_WB_meas", "p_C_W", "v_C_W", "p_C_des_W", "v_C_des_W", "touch", "touch_event", "F_n",
        "frame_known", "frame_model", "frame_k", "frame_c", "frame_q", "frame_s", "tip_offset_B", "fresh",
    ),
    writes=(
        "F_n", "x_late", "v_late", "x_twin", "v_twin", "n_hat_W", "doubt", "tip_offset_B",
    ),
    state=record(line=delay.WRENCH_LINE, force=3, at=3, rate=3, side="i8", planes=(planes.PLANE, (2,)), point=point.POINT),
    params=record(
        tip_B=3, sensor_W=3, q_WS=4, n_W=3, variance="f8", samples="f8", force_noise="f8", threshold="f8", middle="f8",
        give="f8", at_rest="i8", dt="f8", behind="f8", side="i8",
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
