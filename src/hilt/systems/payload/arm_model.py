"""The slave arm with its joints: seven of them, geared velocity servos, on orbit [Yang2018, Appendix A].

    G q = q_a,   τ = Gᵀ τ_a,   τ_a = K_va G (q̇_c - q̇)                       [Yang2018, eq. 12, eq. 13, eq. 16]
    M q̈ + h = τ + Jᵀ F                                                      [Yang2018, eq. 14], F here on the hand
    v_c - v = J G⁻¹K_va⁻¹G⁻ᵀ (M q̈ + h - Jᵀ F)                               [Yang2018, eq. 17, eq. 18, eq. 19]

One table of axes, origins and cylinders defines both the chain (hilt.maths.chain) and the MuJoCo model. The model is at the
origin, unrotated; the true pose of the base is a parameter, which without gravity makes no difference to the joints: all arms
with the same servos share one model. A rotor's inertia counts G² times at its joint. The servo is integrated implicitly, so
it is stable at any stiffness; there are no end stops, since the command stays away from the limits.

At the hand the servos are a damper of B = (J (G K_va G)⁻¹ Jᵀ)⁻¹, 12 kN·s/m across the arm. A grip (k, d) whose force is
computed once per tick is stable while k dt < 2 B and d < B; with 746 kN/m and 1000 N·s/m a tick of 2 ms is far from that.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import Field, field_validator

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.units import KilogramSquareMetre, NewtonMetre, NewtonMetreSecond, Number, Radian, RadianPerSecond, Second
from hilt.dynamics import multibody
from hilt.dynamics.multibody import MULTIBODY
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK

JOINTS = 7
Y, Z = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
Vector = tuple[float, ...]


@dataclass(frozen=True)
class Link:
    """A joint, and the cylinder from it to the next one; at zero angles the arm stands straight up."""

    axis: Vector
    length: float  # m
    radius: float  # m
    limit: float  # rad, both ways


LINKS = (
    Link(Z, 0.15, 0.070, 2.9),
    Link(Y, 0.30, 0.060, 2.1),
    Link(Z, 0.35, 0.060, 2.9),
    Link(Y, 0.30, 0.050, 2.4),
    Link(Z, 0.30, 0.050, 2.9),
    Link(Y, 0.10, 0.045, 2.1),
    Link(Z, 0.15, 0.040, 2.9),
)  # 1.5 m from the second joint, the shoulder, to the hand
BASE_HEIGHT = 0.10  # m, of the first joint
DENSITY = 1500.0  # kg/m³, of a tube with motors and gears in it
LONGEST_STEP = 0.5e-3  # s of physics


class JointedArm(Section):
    """An arm with joints; all have the same gears and servos."""

    gear: Number = Field(default=160.0, ge=1, description="G, reduction of the gears")
    servo_gain: NewtonMetreSecond = Field(default=0.8, gt=0, description="K_va, at the actuator")
    rotor_inertia: KilogramSquareMetre = Field(default=2e-4, ge=0)
    torque: NewtonMetre = Field(default=1000.0, gt=0, description="limit of a joint, after the gear")
    speed: RadianPerSecond = Field(default=0.6, gt=0, description="limit of a joint")
    posture: tuple[Radian, Radian, Radian, Radian, Radian, Radian, Radian] = Field(
        default=(0.0, 0.57, 0.0, 1.84, 0.0, -0.84, 0.0), description="angles of the joints at the start"
    )

    @field_validator("posture")
    @classmethod
    def _within_limits(cls, posture: Vector) -> Vector:
        for i, (angle, link) in enumerate(zip(posture, LINKS, strict=True)):
            if abs(angle) > link.limit:
                raise ValueError(f"its joint {i + 1} is at {angle:g} rad; the limit is ± {link.limit:g} rad; bend it less")
        return posture


@dataclass(frozen=True)
class Stand:
    """Pose of an arm's base in W, its initial posture, and the rotation of the tool for which the hand starts unrotated."""

    p: Vector
    q: Vector
    posture: Vector
    tool_q: Vector


ARM = record(state=1 + 3 * JOINTS, work=CHAIN_WORK)  # time, angles, speeds, warm start
ARM_PARAMS = record(
    body=MULTIBODY,
    chain=CHAIN,
    base_p=3,
    base_q=4,
    posture=JOINTS,
    gear="f8",
    substeps="i8",
)


def pack_arm_chain(p, section: JointedArm, tool_q: Vector = (1.0, 0.0, 0.0, 0.0)) -> None:
    """Pack the table of links as a chain."""
    lengths = (BASE_HEIGHT, *(link.length for link in LINKS))
    chain.pack_chain(
        p,
        axis=[link.axis for link in LINKS],
        origin=[(0.0, 0.0, length) for length in lengths[:-1]],
        tool=(0.0, 0.0, lengths[-1]),
        limits=[(-link.limit, link.limit) for link in LINKS],
        speeds=[section.speed] * JOINTS,
        tool_q=tool_q,
    )


def arm_xml(section: JointedArm, step: float) -> str:
    """The table as a MuJoCo model, driven through `gear` by actuators of gain K_va: its force is τ_a, its speed q̇_a."""
    armature = section.rotor_inertia * section.gear**2
    inner, height = f'<site name="hand" pos="0 0 {LINKS[-1].length!r}"/>', (BASE_HEIGHT, *(link.length for link in LINKS))
    for i, link in reversed(list(enumerate(LINKS))):
        mass = DENSITY * math.pi * link.radius**2 * link.length
        across, along = mass * (3.0 * link.radius**2 + link.length**2) / 12.0, 0.5 * mass * link.radius**2
        inner = (
            f'<body name="link{i}" pos="0 0 {height[i]!r}">'
            f'<inertial pos="0 0 {0.5 * link.length!r}" mass="{mass!r}" diaginertia="{across!r} {across!r} {along!r}"/>'
            f'<joint name="joint{i}" axis="{" ".join(map(repr, link.axis))}" armature="{armature!r}"/>'
            f"{inner}</body>"
        )
    most = section.torque / section.gear
    motors = "".join(
        f'<velocity name="motor{i}" joint="joint{i}" gear="{section.gear!r}" kv="{section.servo_gain!r}" '
        f'forcelimited="true" forcerange="{-most!r} {most!r}"/>'
        for i in range(JOINTS)
    )
    return (
        f'<mujoco><compiler angle="radian"/><option timestep="{step!r}" gravity="0 0 0" integrator="implicitfast"/>'
        f"<worldbody>{inner}</worldbody><actuator>{motors}</actuator></mujoco>"
    )


def stands(section: JointedArm, hands: Sequence[Vector]) -> list[Stand]:
    """One base per hand (at its first position in W), beside the payload and facing it along y: the first at smaller y
    than its hand, the second its mirror image."""
    work, p = np.zeros(1, CHAIN_WORK)[0], np.zeros(1, CHAIN)[0]
    pack_arm_chain(p, section)
    made = []
    for side, hand in zip((-1.0, 1.0), hands, strict=False):
        signs = [1.0 if side < 0.0 or link.axis == Y else -1.0 for link in LINKS]
        posture = np.array(section.posture) * signs
        base_q = (math.sqrt(0.5), 0.0, 0.0, -side * math.sqrt(0.5))
        chain.forward(work, p, posture, (0.0, 0.0, 0.0), base_q)
        base_p = vec.sub(hand, vec.load(work.p))
        made.append(Stand(base_p, base_q, tuple(posture.tolist()), so3.inverse(so3.load(work.q))))
    return made


def pack_arm(p, section: JointedArm, stand: Stand, dt: Second) -> None:
    """Parameters of one arm whose loop ticks every dt."""
    pack_arm_chain(p.chain, section, stand.tool_q)
    p.substeps = math.ceil(dt / LONGEST_STEP - 1e-9)
    multibody.load(arm_xml(section, dt / float(p.substeps))).pack(p.body)
    p.base_p, p.base_q, p.posture, p.gear = stand.p, stand.q, stand.posture, section.gear


@jit
def arm_reset(x, p):
    for i in range(x.state.size):
        x.state[i] = 0.0
    for i in range(JOINTS):
        x.state[1 + i] = p.posture[i]


@jit
def joint_angle(x, i):
    return x.state[1 + i]


@jit
def joint_speed(x, i):
    return x.state[1 + JOINTS + i]


@jit
def _place(x, p):
    chain.forward(x.work, p.chain, x.state[1 : 1 + JOINTS], vec.load(p.base_p), so3.load(p.base_q))
    chain.jacobian(x.work, p.chain)


@jit
def arm_move(x, p, qd_c, f_W, tau_W, dt):
    """One tick with joint speeds qd_c commanded and a wrench at the hand, in W, held over it; dt is that of `pack_arm`."""
    for _ in range(p.substeps):
        _place(x, p)
        multibody.set_state(p.body, x.state)
        for i in range(JOINTS):
            multibody.set_ctrl(p.body, i, p.gear * qd_c[i])  # [Yang2018, eq. 12]
            multibody.push_joint(p.body, i, chain.joint_torque(x.work, p.chain, i, f_W, tau_W))  # [Yang2018, eq. 14]
        multibody.step(p.body)
        multibody.get_state(p.body, x.state)


@jit
def arm_hand(x, p):
    """Position, attitude, velocity and angular velocity of the hand in W."""
    _place(x, p)
    v, w = chain.twist(x.work, p.chain, x.state[1 + JOINTS : 1 + 2 * JOINTS])
    return vec.load(x.work.p), so3.load(x.work.q), v, w
