"""freefloat: a satellite rendered by a robot.

Solid: the simulated body at X_WBcm. Wire: the robot, and the mock-up that it holds, from its encoders. Ghost: the set-point.
The body is the cuboid of its mass and inertia, or of its mass alone when it does not turn. The robot holds it at the
force sensor.

What touches a wall is one point of the body. Walls are drawn where the body's faces meet them when that point does, so the
gap that is drawn is the true one. Where pushes carry the body further than a robot could, the views follow it.
"""

import math

import numpy as np

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import so3, spatial, vec
from hilt.scene.drawing import Drawing
from hilt.scene.placing import UPRIGHT, put, put_arrow
from hilt.scene.robot import JOINTS, ROBOT, add_robot, put_robot
from hilt.scene.shapes import Part, Scene, X, Z, box, cuboid, cylinder, rod, satellite, sphere
from hilt.systems.freefloat.freefloat import FreeFloat
from hilt.systems.freefloat.wall import Wall

OVER = 1.01  # size of the mock-up relative to the body: its lines are just outside
FAR = 3.0  # m, beyond which a robot cannot follow
TIE = 1.0  # m between the marks of a track

PARAMS = record(
    nodes="i8",
    body="i8",
    mock="i8",
    wanted="i8",
    follow="i8",
    walls="i8",
    force="i8",
    torque="i8",
    measured="i8",
    centre=3,
    sensor=3,
    least="f8",
    least_torque="f8",
    robot=ROBOT,
)
STATE = record(q=JOINTS)


@jit_apart
def pose(row, x, p, out):
    sig, x, p = row[0], x[0], p[0]
    put(out, p.body, vec.load(sig.X_WBcm.p), so3.load(sig.X_WBcm.q))
    mock = spatial.load(sig.X_WB_meas)
    known = put(out, p.mock, mock[0], mock[1])
    put(out, p.wanted, vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q))
    put(out, p.follow, vec.load(sig.X_WBcm.p), UPRIGHT)
    if p.walls >= 0:
        put(out, p.walls, (0.0, 0.0, 0.0), UPRIGHT)
    put_robot(out, p.robot, x.q, mock[0], mock[1], known)
    true = spatial.load(sig.X_WB_true)
    centre = spatial.place(true, vec.load(p.centre))
    put_arrow(out, p.nodes, p.force, centre, vec.load(sig.F_Bcm_true_W.f), p.least)
    put_arrow(out, p.nodes, p.torque, centre, vec.load(sig.F_Bcm_true_W.tau), p.least_torque)
    put_arrow(out, p.nodes, p.measured, vec.load(sig.X_WBcm.p), vec.load(sig.F_Bcm_W.f), p.least)


def _walls(values: FreeFloat, wall: Wall, size: np.ndarray) -> list[Part]:
    """Two plates across x; the body's faces reach them when the point that touches does."""
    body = values.body
    start = np.array(body.position) - np.array(body.centre_of_mass) + np.array(wall.point)
    at = np.array(wall.point) - np.array(body.centre_of_mass)  # the point, from the middle of the drawn body
    inside = bool(np.all(np.abs(at) <= 0.5 * size))
    parts = []
    for side in (-1.0, 1.0):
        outwards = wall.gap + (0.5 * size[0] - side * at[0] if inside else 0.0)
        place = start + side * (outwards + 0.03) * np.array(X)
        parts.append(box((0.06, 1.3 * size[1], 1.3 * size[2]), place))
        parts.append(rod(place, place + side * 0.35 * np.array(X), 0.05))
    return parts


def travel(values: FreeFloat) -> np.ndarray:
    """Lowest and highest position that the centre of mass reaches when only the pushes act on it."""
    t = np.linspace(0.0, values.loop.duration, 400)
    force = np.zeros((len(t), 3))
    for push in values.push:
        into = (t - push.start) / push.duration
        inside = (into > 0.0) & (into < 1.0)
        force += np.where(inside, np.sin(math.pi * into) ** 2, 0.0)[:, None] * np.array(push.force)
    v = np.array(values.body.velocity) + np.cumsum(force, axis=0) * t[1] / values.body.mass
    way = np.cumsum(v, axis=0) * t[1] if values.wall is None else np.zeros((1, 3))
    return np.array(values.body.position) + np.array((way.min(axis=0), way.max(axis=0)))


def draw(values: FreeFloat) -> Drawing:
    scene, p = Scene(scale_bar=0.1), np.zeros(1, PARAMS)
    params, body = p[0], values.body
    size = cuboid(body.mass, body.inertia if values.rotates else None)
    centre, start = np.array(body.centre_of_mass), np.array(body.position)
    params.centre, params.sensor = centre, values.sensor.position
    parts = satellite(size, wings=2) + ([_nose(size)] if values.wall is None else [])
    params.body = scene.node("body", f"satellite, {body.mass:g} kg", "solid", "body", *parts)
    parts = [box(OVER * size, centre), cylinder(0.09, 0.05, values.sensor.position, (0, 1, 0)), sphere(0.03, centre)]
    params.mock = scene.node("mock-up", "mock-up on the robot", "wire", "slave", *parts)
    params.wanted = scene.node("set-point", "set-point", "ghost", "tool", box(size, centre))
    params.follow = scene.node("beside", "follows the body, unrotated", "static", "ground")
    low, high = travel(values)
    far = float(np.max(high - low)) > FAR
    params.walls = -1
    if values.wall is not None:
        params.walls = scene.node("walls", "walls", "static", "wall", *_walls(values, values.wall, size))
    elif far:
        params.walls = scene.node("track", "track, a mark for each metre", "static", "ground", *_track(low, high, size))

    sensor_W = start + np.array(so3.rotate(body.attitude, np.array(values.sensor.position) - centre))
    mount_q = so3.multiply(so3.inverse(body.attitude), so3.exp((0.0, 0.0, 0.5 * math.pi)))
    add_robot(scene, params.robot, sensor_W, np.array((0.0, 1.0, 0.0)), values.sensor.position, mount_q)

    force = max([math.hypot(*push.force) for push in values.push], default=0.0)
    if values.wall is not None:
        force = max(force, math.hypot(*body.velocity) * math.sqrt(values.wall.stiffness * body.mass))
    force = force or values.limits.force
    length = float(max(size))
    params.least, params.least_torque = 0.02 * force, 0.02 * force * length
    params.force = scene.arrow("force", "force on the body", "N", length / force, "force")
    params.torque = scene.arrow("torque", "torque on the body", "N·m", 2.0 / force, "command")
    params.measured = scene.arrow("measured", "measured force", "N", length / force, "virtual")
    params.nodes = len(scene.nodes)
    scene.trail("body", "body")
    scene.workspace(values.limits.workspace_min, values.limits.workspace_max, 10.0)
    _views(scene, low, high, size, far, values)
    return Drawing(scene, pose, np.zeros(1, STATE), p)


def _nose(size: np.ndarray) -> Part:
    """The nose, which marks the front."""
    return cylinder(0.18 * float(size[2]), 0.12, (0.5 * size[0] + 0.05, 0.0, 0.0), (1, 0, 0), "tool")


def _track(low: np.ndarray, high: np.ndarray, size: np.ndarray) -> list[Part]:
    """A line along the longest travel, with ties."""
    axis = int(np.argmax(high - low))
    across = np.eye(3)[(axis + 1) % 3]
    under = -0.8 * float(size[2]) * np.array(Z) if axis != 2 else 0.8 * float(size[0]) * np.array((1.0, 0.0, 0.0))
    a, b = low.copy(), low.copy()
    b[axis] = high[axis]
    parts = [rod(a + under, b + under, 0.02)]
    for k in range(math.floor((high - low)[axis] / TIE) + 1):
        middle = a + under + k * TIE * np.eye(3)[axis]
        half = 0.6 if k % 10 == 0 else 0.3
        parts.append(rod(middle - half * across, middle + half * across, 0.02))
    return parts


def _views(scene: Scene, low: np.ndarray, high: np.ndarray, size: np.ndarray, far: bool, values: FreeFloat) -> None:
    """Views filled by the body and its travel; the oblique one also shows the robot."""
    wide = 3.1 * float(max(size))
    node = "beside" if far else None
    middle = np.zeros(3) if far else 0.5 * (low + high)
    span = wide if far else wide + float(np.max(high - low))
    scene.look("top", middle, (0.0, 0.0, 1.0), span, (0.0, 1.0, 0.0), node)
    if values.wall is not None:  # the gap is small: close to the face that meets the wall
        at = middle + np.array((0.5 * size[0], -0.65 * size[1], 0.0))
        scene.look("side", at, (0.0, -1.0, 0.0), 16.0 * values.wall.gap)
    else:
        scene.look("side", middle, (0.0, -1.0, 0.0), span, Z, node)
    robot = np.zeros(3) if far else middle + np.array((0.0, -0.7, -0.4))
    scene.look("front", robot, (1.0, -0.45, 0.35), span if far else span + 1.2, Z, node)
    eye = np.array(values.sensor.position) + np.array((0.0, -0.9 * wide, 0.5 * wide))
    scene.view("tool camera", eye, values.body.centre_of_mass, 0.7 * wide, node="mock-up")
