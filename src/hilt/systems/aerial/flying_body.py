"""The flying arm in MuJoCo: its servos, and its motion over a tick.

A joint is a position servo: its set-point q_s moves to the commanded angle at no more than the joint's speed limit, and

    τ = k (q_s + z - q) + d (q̇_s - q̇)   within ± 5 N·m,     z' = (q_s - q)/T_i   within the limit that 5 N·m need

The integral z carries the load on the joint, as in a real servo motor; it starts with the arm's own weight in the first
posture. Nothing else is fed forward, and the joint itself, driven by a spring, may for some milliseconds be faster than its
set-point. Thrust, torques and the wrench at the tool are actuators of the model: the first two are held exactly in the body
frame, the last in the world frame.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.dynamics import multibody
from hilt.dynamics.multibody import MULTIBODY
from hilt.maths import so3, vec
from hilt.systems.aerial.flying_arm import JOINTS, FlyingArm, Vector, flying_xml

LONGEST_STEP = 0.5e-3  # s of physics
LOST = 1e6  # m, m/s, rad/s: beyond this the equations have diverged


def _weight_torques(body: multibody.Multibody, posture: np.ndarray) -> np.ndarray:
    """Torques that the joints need, with the base held."""
    import mujoco

    data = mujoco.MjData(body.model)
    data.qpos[7:] = posture
    mujoco.mj_forward(body.model, data)
    return np.array(data.qfrc_bias[6:])


# state: time, pose, angles, twist, speeds, warm start; set: the servos' set-points; sent: the model's inputs.
FLYING_ARM = record(state=14 + 12 + 12, set=JOINTS, integral=JOINTS, sent=JOINTS, six=6)
FLYING_ARM_PARAMS = record(
    body=MULTIBODY,
    joints="i8",
    substeps="i8",
    base_body="i8",
    tool_body="i8",
    tool="i8",
    start=38,
    posture=JOINTS,
    hold=JOINTS,
    torque="f8",
    speed="f8",
    stiffness=JOINTS,
    damping=JOINTS,
    integral_time="f8",
)
MOVING = 26  # entries of `state` before the warm start
_SERVO = 10  # first actuator of the joints, after thrust, torques and the wrench at the tool


def pack_flying_arm(p, section: FlyingArm, base: tuple[Vector, Vector], posture: np.ndarray, locked: bool, dt: float) -> None:
    """Parameters of a vehicle that starts at rest, its base at a pose in N; its loop ticks every dt."""
    p.substeps = max(2, math.ceil(dt / LONGEST_STEP - 1e-9))
    body = multibody.load(flying_xml(section, dt / float(p.substeps), posture if locked else None))
    body.pack(p.body)
    p.joints = 0 if locked else JOINTS
    p.base_body, p.tool_body, p.tool = body.bodies["base"], body.bodies["link5"], body.sites["E"]
    p.posture = posture
    p.start[1:8] = (*base[0], *base[1])
    if not locked:
        p.start[8:14] = posture
        p.hold = _weight_torques(body, posture) / section.servo_gains[0]
    p.torque, p.speed, p.integral_time = section.torque, section.speed, section.integral_time
    p.stiffness, p.damping = section.servo_gains


@jit
def flying_start(x, p):
    for i in range(x.state.size):
        x.state[i] = p.start[i]
    for i in range(JOINTS):
        x.set[i], x.integral[i], x.sent[i] = p.posture[i], p.hold[i], p.posture[i] + p.hold[i]
    multibody.set_state(p.body, x.state)


@jit
def _servo(x, p, i, q_c, left, h):
    """Set-point, integral and model input of joint i, for one substep of `left` in this tick."""
    most = p.speed * h
    step = min(max((q_c[i] - x.set[i]) / left, -most), most)
    x.set[i] += step
    behind = x.set[i] - multibody.joint_position(p.body, 7 + i)
    bound = p.torque / p.stiffness[i]
    x.integral[i] = min(max(x.integral[i] + h / p.integral_time * behind, -bound), bound)
    x.sent[i] = x.set[i] + x.integral[i] + p.damping[i] / p.stiffness[i] * step / h
    multibody.set_ctrl(p.body, _SERVO + i, x.sent[i])


@jit
def _flies(x):
    """Whether position, angles and speeds are finite and plausible."""
    flies = True
    for i in range(MOVING):
        flies = flies and abs(x.state[i]) < LOST
    return flies


@jit
def flying_move(x, p, u_T, tau, wind_N, f_E_N, tau_E_N, q_c, dt):
    """One tick with thrust and torques held in b, the wind on the base and a wrench at the tool in N; dt is that of `pack`.

    Returns whether it still flies.
    """
    multibody.set_state(p.body, x.state)
    multibody.set_ctrl(p.body, 0, u_T)
    for i in range(3):
        multibody.set_ctrl(p.body, 1 + i, tau[i])
        multibody.set_ctrl(p.body, 4 + i, f_E_N[i])
        multibody.set_ctrl(p.body, 7 + i, tau_E_N[i])
    multibody.push_body(p.body, p.base_body, wind_N, (0.0, 0.0, 0.0))
    for k in range(p.substeps):
        for i in range(p.joints):
            _servo(x, p, i, q_c, p.substeps - k, dt / p.substeps)
        multibody.step(p.body)
    multibody.get_state(p.body, x.state)
    return _flies(x)


@jit
def flying_show(sig, x, p):
    """Write base, tool and joints of the state that `flying_move` or `flying_start` left in the scratch."""
    multibody.place(p.body)
    vec.store(sig.X_Nb_meas.p, multibody.body_position(p.body, p.base_body))
    so3.store(sig.X_Nb_meas.q, multibody.body_attitude(p.body, p.base_body))
    v, w = multibody.velocity(p.body, multibody.XBODY, p.base_body, x.six)
    vec.store(sig.V_Nb_meas.v, v)
    vec.store(sig.V_Nb_meas.w, w)
    vec.store(sig.X_NE.p, multibody.site_position(p.body, p.tool))
    so3.store(sig.X_NE.q, multibody.body_attitude(p.body, p.tool_body))
    v, w = multibody.velocity(p.body, multibody.SITE, p.tool, x.six)
    vec.store(sig.V_NE.v, v)
    vec.store(sig.V_NE.w, w)
    for i in range(JOINTS):
        sig.q_uam[i], sig.qd_uam[i], sig.tau_uam[i] = p.posture[i], 0.0, 0.0
    for i in range(p.joints):
        q, qd = multibody.joint_position(p.body, 7 + i), multibody.joint_velocity(p.body, 6 + i)
        sig.q_uam[i], sig.qd_uam[i] = q, qd
        sig.tau_uam[i] = min(max(p.stiffness[i] * (x.sent[i] - q) - p.damping[i] * qd, -p.torque), p.torque)
