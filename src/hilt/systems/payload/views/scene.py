"""payload: what the operator sees. Solid: the virtual arm and payload, at once. Wire: the slave arm, the payload's mock-up and
the motion table, as they are. Ghost: the slave arm as reported to the ground, twice the delay after the command; the link
carries only its position, so it is drawn with its initial attitude; its payload is drawn while the hand holds it. A clasp round
each hand shows closed fingers.

Where table and hand are on a robot each (`arm.model = "robot"`), a robot holds the mock-up in place of the HEXA table, and both
are drawn from their encoders.

With a hand on a master device there is no virtual arm: the device is solid, where the hand holds it, and the slave hand wire.
"""

import math

import numpy as np

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import so3, vec
from hilt.scene.drawing import Drawing
from hilt.scene.placing import UPRIGHT, hide, put, put_arrow
from hilt.scene.robot import BELOW, ROBOT, add_robot, put_robot
from hilt.scene.shapes import Part, Scene, X, Y, Z, box, cuboid, cylinder, edges, rod, sphere, turn_to
from hilt.systems.payload.arm_model import JOINTS, stands
from hilt.systems.payload.fingers import HALF
from hilt.systems.payload.payload import Payload
from hilt.systems.payload.views.scene_arm import ARM, MEMORY, add_slave_arm, pack_slave_arm, put_angles, put_reaching
from hilt.systems.payload.views.scene_table import FLOOR, TABLE, add_table, put_table

FINGER = 0.03  # m, the drawn finger that meets a wall
GROUND = 1.3  # m below the grip, where there is no table

PARAMS = record(
    nodes="i8",
    arms="i8",
    jointed="i8",
    bilateral="i8",
    table="i8",
    on_robots="i8",
    slave=2,
    virtual=2,
    late=2,
    payload="i8",
    virtual_payload="i8",
    late_payload="i8",
    slave_clasp=2,
    virtual_clasp=2,
    wall="i8",
    master="i8",
    finger="i8",
    floor="i8",
    grip_B=3,
    offsets=("f8", (2, 3)),
    arm=(ARM, (2,)),
    hexa=TABLE,
    robot=ROBOT,
    floor_p=3,
    wall_p=3,
    least="f8",
    least_speed="f8",
    speed_arrow="i8",
    virtual_arrow="i8",
    grip_arrow=2,
    hand_arrow="i8",
    wall_arrow="i8",
)


@jit_apart
def _put_arms(out, nodes, x, p, place, q):
    """All arms with their hands around a common position."""
    for i in range(p.arms):
        hand = vec.add(place, so3.rotate(q, vec.load(p.offsets[i])))
        put_reaching(out, int(nodes[i]), x, p.arm[i], hand, q)


@jit_apart
def _put_clasps(out, nodes, p, place, q, is_open):
    """Round each hand while its fingers are closed."""
    for i in range(p.arms):
        node = int(nodes[i])
        put(out, node, vec.add(place, so3.rotate(q, vec.load(p.offsets[i]))), q)
        if is_open > HALF:
            hide(out, node)


@jit_apart
def _put_slaves(out, sig, x, p):
    for i in range(p.arms):
        if p.jointed:
            put_angles(out, int(p.slave[i]), p.arm[i], sig.q_arm[JOINTS * i : JOINTS * (i + 1)])
        else:
            hand = sig.hands[7 * i : 7 * i + 7]
            put_reaching(out, int(p.slave[i]), x, p.arm[i], vec.load(hand), so3.load(hand[3:]))


@jit_apart
def _put_virtual(out, sig, x, p):
    q, q_t = so3.load(sig.q_vir), so3.load(sig.q_tvir)
    _put_arms(out, p.virtual, x, p, vec.load(sig.x_vir), q)
    put(out, p.virtual_payload, vec.sub(vec.load(sig.x_tvir), so3.rotate(q_t, vec.load(p.grip_B))), q_t)
    late = vec.load(sig.x_s_ground)
    _put_arms(out, p.late, x, p, late, UPRIGHT)
    put(out, p.late_payload, vec.sub(late, vec.load(p.grip_B)), UPRIGHT)
    if sig.grip_open_ground > HALF:
        hide(out, p.late_payload)
    _put_clasps(out, p.virtual_clasp, p, vec.load(sig.x_vir), q, sig.grip_open_vir)
    put_arrow(out, p.nodes, p.speed_arrow, vec.load(sig.x_vir), vec.load(sig.v_r), p.least_speed)
    put_arrow(out, p.nodes, p.virtual_arrow, vec.load(sig.x_tvir), vec.load(sig.f_vir), p.least)


@jit_apart
def pose(row, x, p, out):
    sig, x, p = row[0], x[0], p[0]
    put(out, p.floor, vec.load(p.floor_p), UPRIGHT)
    _put_slaves(out, sig, x, p)
    if p.payload >= 0:
        measured, turned = vec.load(sig.X_WB_meas.p), so3.load(sig.X_WB_meas.q)
        known = put(out, p.payload, measured, turned)
        if p.on_robots:
            put_robot(out, p.robot, x.q, measured, turned, known)
        _put_clasps(out, p.slave_clasp, p, vec.load(sig.x_s), so3.load(sig.q_s), sig.grip_open)
    if p.table:
        put_table(out, p.hexa, sig.stage_xy, sig.hexa_angles, vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q))
    if p.wall >= 0:
        put(out, p.wall, vec.load(p.wall_p), UPRIGHT)
    for i in range(p.arms):
        f = vec.load(sig.hand_wrenches[6 * i : 6 * i + 3])
        put_arrow(out, p.nodes, int(p.grip_arrow[i]), vec.load(sig.hands[7 * i : 7 * i + 3]), f, p.least)
    if p.bilateral:
        put(out, p.master, vec.load(sig.x_m), UPRIGHT)
        put(out, p.finger, vec.load(sig.hands[0:3]), UPRIGHT)
        put_arrow(out, p.nodes, p.hand_arrow, vec.load(sig.x_m), vec.load(sig.f_hand), p.least)
        put_arrow(out, p.nodes, p.wall_arrow, vec.load(sig.hands[0:3]), vec.load(sig.wall_W), p.least)
    else:
        _put_virtual(out, sig, x, p)


def _module(values: Payload, size: np.ndarray) -> list[Part]:
    """The cuboid of mass and inertia as an open frame, so that hands are seen at grips inside it; a tank on top of it."""
    a = float(max(size))
    parts = edges(size, 0.05 * a) + [
        box((size[0], size[1], 0.04 * a), (0.0, 0.0, side * 0.5 * size[2])) for side in (-1.0, 1.0)
    ]
    parts.append(cylinder(0.42 * a, 0.8 * a, (0.0, 0.0, 0.5 * size[2] + 0.4 * a)))
    ys = [grip[1] for grip in values.grips]
    x, _, z = values.grip.position
    reach = max(0.5 * size[1], *(abs(y) for y in ys))
    parts.append(rod((x, -reach, z), (x, reach, z), 0.018, "tool"))
    return parts


def _travel(values: Payload) -> np.ndarray:
    """Displacement that the payload is to make [m]."""
    operator = values.operator
    far = operator.speed * operator.duration
    if operator.kind == "profile":
        times, speeds = np.array(operator.profile).T
        far = float(np.trapezoid(speeds, times))
    elif operator.kind == "hand":
        far = values.hand.distance
    elif operator.kind == "live":
        far = 0.3
    direction = np.array(operator.direction) / math.hypot(*operator.direction)
    return far * direction


def _add_wall(scene: Scene, p, values: Payload, start: np.ndarray, size: np.ndarray) -> None:
    """Add what blocks the motion, if anything: a wall for the hand, an obstacle for the payload."""
    direction = np.array(values.operator.direction) / math.hypot(*values.operator.direction)
    p.wall = -1
    if values.bilateral_mode and values.force_arm.wall_stiffness > 0.0:
        face, label, side = values.force_arm.wall_distance + FINGER, "wall", 0.26
    elif values.hindrance.obstacle_distance is not None:
        along = float(np.abs(direction) @ size) * 0.5
        face, label, side = values.hindrance.obstacle_distance + along, "obstacle", 0.5
    else:
        return
    plate = box((side, side, 0.04), 0.02 * direction, turn_to(direction))
    p.wall = scene.node("wall", label, "static", "wall", plate)
    p.wall_p = start + face * direction


def _add_master(scene: Scene, p) -> None:
    """A stick that a fist holds, and the finger that the slave hand feels with."""
    fist = [box((0.09, 0.07, 0.09), (0.0, 0.0, -0.26), colour="hand")]
    fist += [cylinder(0.014, 0.10, (0.035, 0.0, -0.23 - 0.022 * i), Y, "hand") for i in range(4)]
    fist.append(rod((-0.03, 0.0, -0.28), (-0.27, 0.0, -0.42), 0.035, "hand"))
    stick = [sphere(FINGER), rod((0, 0, 0), (0, 0, -0.32), 0.012)]
    p.master = scene.node("master", "master device", "solid", "virtual", *stick, *fist)
    p.finger = scene.node("finger", "slave hand: finger", "wire", "slave", sphere(FINGER))


def _add_clasps(scene: Scene, p, values: Payload) -> None:
    clasp = cylinder(0.032, 0.05, along=Y, colour="tool")
    for i in range(values.arm.count):
        name = f" {i + 1}" if values.arm.count == 2 else ""
        p.slave_clasp[i] = scene.node(f"slave-clasp{name.strip()}", f"slave hand{name}: closed", "wire", "slave", clasp)
        if not values.bilateral_mode:
            key, label = f"virtual-clasp{name.strip()}", f"virtual hand{name}: closed"
            p.virtual_clasp[i] = scene.node(key, label, "solid", "virtual", clasp)


def draw(values: Payload) -> Drawing:
    scene, p = Scene(scale_bar=0.1), np.zeros(1, PARAMS)
    params, arm = p[0], values.arm
    start, size = np.array(values.start_of_grip), cuboid(values.payload.mass, values.payload.inertia)
    params.arms, params.grip_B = arm.count, values.grip.position
    params.bilateral = values.bilateral_mode
    params.jointed = arm.model == "jointed" and not values.bilateral_mode
    params.offsets[: arm.count] = np.array(values.grips) - values.grip.position
    hands = [tuple(np.array(values.start_of_hand) + offset) for offset in params.offsets[: arm.count]]
    params.on_robots = on_robots = arm.model == "robot" and values.gripped
    table = values.hexa if values.gripped and not on_robots else None
    floor = start[2] - GROUND if table is None else table.centre[2] - table.height - FLOOR
    behind = np.array((-0.5 * size[0], 0.0, 0.0))  # where the table's robot holds the mock-up
    flange = start - values.grip.position + behind
    if on_robots:
        floor = flange[2] - BELOW
    params.floor_p = (start[0], start[1], floor)
    room = (4.4, -0.5) if on_robots else (3.4, 0.0)  # the table's robot stands further back
    params.floor = scene.node("floor", "floor", "static", "ground", box((room[0], 3.0, 0.02), (room[1], 0.0, -0.01)))
    for i, stand in enumerate(stands(arm.jointed, hands)):
        pack_slave_arm(params.arm[i], arm.jointed, stand)
        name = f" {i + 1}" if arm.count == 2 else ""
        high = stand.p[2] - floor
        params.slave[i] = add_slave_arm(scene, f"slave{name.strip()}", f"slave arm{name}", "wire", "slave", high)
        if not values.bilateral_mode:
            params.virtual[i] = add_slave_arm(scene, f"virtual{name.strip()}", f"virtual arm{name}", "solid", "virtual", 0.0)
            params.late[i] = add_slave_arm(scene, f"late{name.strip()}", f"slave arm{name}, as seen", "ghost", "slave", 0.0)
    label, module = f"payload, {values.payload.mass:g} kg", _module(values, size)
    params.payload = -1
    if values.gripped:
        params.payload = scene.node("payload", label, "wire", "slave", *module)
    if not values.bilateral_mode:
        params.virtual_payload = scene.node("virtual-payload", f"virtual {label}", "solid", "body", *module)
        params.late_payload = scene.node("late-payload", f"{label}, as seen", "ghost", "slave", *module)
    else:
        _add_master(scene, params)
    if values.gripped:
        _add_clasps(scene, params, values)
    _add_wall(scene, params, values, start, size)
    params.table = table is not None
    if table is not None:
        add_table(scene, params.hexa, table, values.xy_stage)
    if on_robots:
        add_robot(scene, params.robot, flange, np.array(X), behind, UPRIGHT, "robot of the table")
    _arrows(scene, params, values)
    params.nodes = len(scene.nodes)
    scene.workspace(values.limits.workspace_min, values.limits.workspace_max, 4.0)
    _views(scene, values, start, floor)
    return Drawing(scene, pose, np.zeros(1, MEMORY), p)


def _arrows(scene: Scene, p, values: Payload) -> None:
    operator = values.operator
    force = 2.0 * operator.speed / values.slave.compliance
    if values.bilateral_mode:
        force = 0.5 * values.hand.stiffness * values.hand.distance
    p.least, p.least_speed = 0.01 * force, 0.01 * operator.speed
    for i in range(values.arm.count):
        p.grip_arrow[i] = scene.arrow(f"grip-{i + 1}", "force of the slave hand on the payload", "N", 0.5 / force, "force")
    if values.bilateral_mode:
        p.hand_arrow = scene.arrow("hand", "force of the hand on the master", "N", 0.5 / force, "command")
        p.wall_arrow = scene.arrow("wall", "force of the slave hand on the wall", "N", 0.5 / force, "force")
        scene.trail("finger", "slave")
        scene.trail("master", "virtual")
        return
    p.speed_arrow = scene.arrow("speed", "speed commanded by the operator", "m/s", 0.4 / operator.speed, "command")
    p.virtual_arrow = scene.arrow("virtual", "force of the virtual hand", "N", 0.5 / force, "virtual")
    scene.trail("payload", "slave")
    scene.trail("virtual-payload", "virtual")


def _views(scene: Scene, values: Payload, start: np.ndarray, floor: float) -> None:
    """Arms of 1.5 m stand about 1 m beside the payload, at smaller y, and at larger y if there are two."""
    travel = _travel(values)
    middle = start + 0.5 * travel
    two = values.arm.count == 2
    beside = middle + np.array((0.0, 0.0 if two else -0.4, 0.0))
    span = (3.0 if two else 2.4) + float(np.abs(travel).max())
    if values.arm.model == "robot" and not values.bilateral_mode:
        middle, beside, span = middle - (0.6, 0.0, 0.0), beside - (0.6, 0.0, 0.0), span + 0.4
    low = 0.5 * (start[2] + 0.6 + floor)
    if values.bilateral_mode:  # a hand moves only a short distance
        scene.look("top", middle, (0.0, 0.0, 1.0), 0.9, (0.0, 1.0, 0.0))
        scene.look("side", middle - 0.1 * np.array(Z), (0.1, 1.0, 0.15), 0.9)
    else:
        scene.look("top", beside, (0.0, 0.0, 1.0), span, (0.0, 1.0, 0.0))
        scene.look("side", (middle[0], middle[1], low), (0.35, 1.0, 0.25), 1.3 * span)
    scene.look("front", (beside[0], beside[1], low), (1.0, 0.0, 0.12), 1.25 * span)
    key = "slave" if values.bilateral_mode else "virtual"
    name = f"{key}{'1' if two else ''}-hand"
    scene.view("tool camera", (0.35, -0.75, 0.5), (0.0, 0.0, 0.05), 0.9, node=name)
