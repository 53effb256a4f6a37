"""A generic six-axis industrial robot that carries a mock-up: only drawn, so its angles are computed in closed form.

At zero angles the upper arm is vertical and the forearm points ahead along x. The wrist centre c is one flange length behind
the flange; with r, z from the shoulder to c, D² = r² + z² and φ = atan2(z, r),

    q1 = atan2(c_y, c_x),  q2 = ½π - φ - α,  q3 = β - φ - q2        α, β: angles of the triangle (upper arm, D, forearm)
    Rx(q4) Ry(q5) Rx(q6) = R03ᵀ R

It is hidden at poses out of its reach: purely simulated scenarios may go where no robot can.
"""

import math

import numpy as np

from hilt.compiled import jit, jit_apart
from hilt.core.signals import record
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN
from hilt.scene.placing import hide, put_chain
from hilt.scene.shapes import Scene, X, Y, Z, box, cylinder, rod, sphere

HEIGHT, AHEAD, UPPER, FOREARM, FLANGE = 0.60, 0.30, 1.15, 1.20, 0.20  # m
ELBOW_TO_ROLL = 0.45  # m, from the elbow to the roll joint
JOINTS = 6
NODES = JOINTS + 2  # the base, six links, the flange
BEFORE = (1.55, -0.55)  # m, preferred flange position: ahead of the base, above the end of the upright upper arm
BELOW = HEIGHT + UPPER + BEFORE[1]  # m, from the flange down to the base

ROBOT = record(chain=CHAIN, stand=7, first="i8", mount=7)


def add_robot(scene: Scene, p, flange_at: np.ndarray, facing: np.ndarray, mount_p, mount_q, label: str = "robot") -> None:
    """Add a robot with its flange initially at `flange_at`, and its base behind and below; `facing` is horizontal.

    mount: pose of the flange (its x outwards) in the frame of the mock-up that it carries.
    """
    base = flange_at - BEFORE[0] * facing - BELOW * np.array(Z)
    yaw = math.atan2(facing[1], facing[0])
    p.stand[:3], p.stand[3:] = base, (math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw))
    p.mount[:3], p.mount[3:] = mount_p, mount_q
    chain.pack_chain(
        p.chain,
        axis=(Z, Y, Y, X, Y, X),
        origin=(
            (0.0, 0.0, HEIGHT),
            (AHEAD, 0.0, 0.0),
            (0.0, 0.0, UPPER),
            (ELBOW_TO_ROLL, 0.0, 0.0),
            (FOREARM - ELBOW_TO_ROLL, 0.0, 0.0),
            (0.0, 0.0, 0.0),
        ),
        tool=(FLANGE, 0.0, 0.0),
        limits=[(-math.pi, math.pi)] * JOINTS,
        speeds=[1.0] * JOINTS,
    )
    p.first = len(scene.nodes)
    scene.node("robot-base", label, "wire", "robot", cylinder(0.30, 0.08, (0, 0, 0.04)), cylinder(0.22, 0.36, (0, 0, 0.26)))
    links = (
        ("column", (cylinder(0.21, 0.26, (0, 0, -0.03)), box((0.42, 0.30, 0.26), (0.16, 0, 0.02)))),
        ("upper arm", (cylinder(0.17, 0.34, along=Y), box((0.22, 0.18, UPPER), (0, 0, 0.5 * UPPER)))),
        ("elbow", (cylinder(0.14, 0.30, along=Y), box((0.50, 0.20, 0.22), (0.20, 0, 0.03)))),
        ("forearm", (cylinder(0.085, FOREARM - ELBOW_TO_ROLL, (0.5 * (FOREARM - ELBOW_TO_ROLL), 0, 0), X),)),
        ("wrist", (sphere(0.085),)),
        ("hand", (rod((0.0, 0, 0), (FLANGE - 0.03, 0, 0), 0.06),)),
        ("flange", (cylinder(0.08, 0.03, (-0.015, 0, 0), X),)),
    )
    for name, parts in links:
        scene.node(f"robot-{name.replace(' ', '-')}", f"{label}: {name}", "wire", "robot", *parts)


@jit
def _wrist(q, R):
    """The three angles of q = Rx Ry Rx; near q5 = 0 the first is set to 0."""
    x = so3.rotate(R, (1.0, 0.0, 0.0))
    row = so3.rotate_back(R, (1.0, 0.0, 0.0))  # the first row of the matrix
    bend = math.sqrt(x[1] * x[1] + x[2] * x[2])
    q[4] = math.atan2(bend, x[0])
    if bend > 1e-9:
        q[3] = math.atan2(x[1], -x[2])
        q[5] = math.atan2(row[1], row[2])
    else:
        y = so3.rotate(R, (0.0, 1.0, 0.0))
        q[3], q[5] = 0.0, math.atan2(y[2], y[1])


@jit_apart
def robot_angles(q, p, q_RF):
    """Compute the six angles q for the flange at p, q_RF in the robot's frame; returns whether it is within reach."""
    x = so3.rotate(q_RF, (1.0, 0.0, 0.0))
    c = vec.sub(p, vec.scale(FLANGE, x))
    q[0] = math.atan2(c[1], c[0])
    r, z = math.sqrt(c[0] * c[0] + c[1] * c[1]) - AHEAD, c[2] - HEIGHT
    square = r * r + z * z
    distance = math.sqrt(square)
    if not abs(UPPER - FOREARM) + 1e-6 < distance < UPPER + FOREARM:
        return False
    phi = math.atan2(z, r)
    alpha = math.acos((UPPER * UPPER + square - FOREARM * FOREARM) / (2.0 * UPPER * distance))
    beta = math.acos((FOREARM * FOREARM + square - UPPER * UPPER) / (2.0 * FOREARM * distance))
    q[1] = 0.5 * math.pi - phi - alpha
    q[2] = beta - phi - q[1]
    lift = q[1] + q[2]
    q_03 = so3.multiply(so3.exp((0.0, 0.0, q[0])), so3.exp((0.0, lift, 0.0)))
    _wrist(q, so3.multiply(so3.inverse(q_03), q_RF))
    return True


@jit_apart
def put_robot(out, p, q, mock_p, mock_q, known):
    """Put the robot that holds the mock-up; q is scratch for its angles."""
    base_p, base_q = vec.load(p.stand), so3.load(p.stand[3:])
    for k in range(7):
        out[8 * p.first + k] = p.stand[k]
    reached = False
    if known:
        F_p = vec.add(mock_p, so3.rotate(mock_q, vec.load(p.mount)))
        F_q = so3.multiply(mock_q, so3.load(p.mount[3:]))
        at = so3.rotate_back(base_q, vec.sub(F_p, base_p))
        reached = robot_angles(q, at, so3.multiply(so3.inverse(base_q), F_q))
    out[8 * p.first + 7] = 1.0 if reached else 0.0
    if reached:
        put_chain(out, p.first + 1, p.chain, q, base_p, base_q)
    else:
        for i in range(JOINTS + 1):
            hide(out, p.first + 1 + i)
