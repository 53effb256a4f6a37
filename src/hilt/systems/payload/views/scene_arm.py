"""The arm of seven joints, drawn from the table that its model is made of (arm_model.py).

A hand whose joints the row does not have (the virtual one, a point arm, the picture that the ground gets) is given a posture by
the chain's inverse kinematics. It starts from the first posture each time, so a picture depends on its row alone: scrubbing
backwards shows the same. Out of reach, the arm gets as close as it can.
"""

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.scene.placing import put, put_chain
from hilt.scene.shapes import Part, Scene, Y, box, cylinder, rod, sphere
from hilt.systems.payload.arm_model import BASE_HEIGHT, JOINTS, LINKS, JointedArm, Stand, pack_arm_chain

NODES = JOINTS + 2  # base, links, hand
STEP = 0.5  # rad of a joint, at most, in one iteration
ITERATIONS = 24
CLOSE = 1e-9  # m and rad

ARM = record(chain=CHAIN, stand=7, posture=JOINTS)
MEMORY = record(work=CHAIN_WORK, q=JOINTS)


def pack_slave_arm(p, section: JointedArm, stand: Stand) -> None:
    pack_arm_chain(p.chain, section, stand.tool_q)
    p.chain.speed[:JOINTS] = STEP
    p.chain.near, p.chain.damping = 1e-4, 0.02
    p.stand[:3], p.stand[3:], p.posture = stand.p, stand.q, stand.posture


def _link_parts(i: int) -> list[Part]:
    link = LINKS[i]
    parts = [cylinder(link.radius, link.length, (0.0, 0.0, 0.5 * link.length))]
    if link.axis == Y:
        parts.append(cylinder(1.12 * link.radius, 2.6 * link.radius, along=Y))
    if i == JOINTS - 1:  # the gripper closes at the hand
        parts = [cylinder(link.radius, 0.6 * link.length, (0.0, 0.0, 0.3 * link.length))]
        parts.append(box((0.13, 0.05, 0.03), (0.0, 0.0, 0.6 * link.length)))
        parts += [box((0.02, 0.04, 0.08), (side * 0.045, 0.0, 0.6 * link.length + 0.045)) for side in (-1.0, 1.0)]
    return parts


def add_slave_arm(scene: Scene, key: str, label: str, style: str, colour: str, floor: float) -> int:
    """Base, seven links and the hand; returns the number of the first node. `floor`: how far the base is above it."""
    pedestal = [rod((0, 0, -floor), (0, 0, 0), 0.09)] if floor > 0.0 and style != "ghost" else []
    first = scene.node(f"{key}-base", f"{label}: base", style, colour, cylinder(0.11, BASE_HEIGHT, (0, 0, 0.05)), *pedestal)
    for i in range(JOINTS):
        scene.node(f"{key}-{i + 1}", f"{label}: link {i + 1}", style, colour, *_link_parts(i))
    scene.node(f"{key}-hand", f"{label}: hand", style, colour, sphere(0.02))
    return first


@jit_apart
def put_angles(out, first, p, q):
    """The arm with the joint angles q."""
    base_p, base_q = vec.load(p.stand), so3.load(p.stand[3:])
    put(out, first, base_p, base_q)
    put_chain(out, first + 1, p.chain, q, base_p, base_q)


@jit_apart
def put_reaching(out, first, x, p, hand_p, hand_q):
    """The arm with its hand at a pose; returns the remaining error [m, rad]."""
    base_p, base_q = vec.load(p.stand), so3.load(p.stand[3:])
    for i in range(JOINTS):
        x.q[i] = p.posture[i]
    left = 1.0
    for _ in range(ITERATIONS):
        left = max(*chain.ik(x.work, p.chain, x.q, hand_p, hand_q, base_p, base_q, 1.0, 1))
        if left < CLOSE:
            break
    put_angles(out, first, p, x.q)
    return left
