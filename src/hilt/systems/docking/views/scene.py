"""docking, seen from the target: W is fixed, the servicer approaches.

Solid: the simulated satellites, X_WA = (X_NT X_TW)⁻¹ X_NA. Wire: the robot and the mock-up that it holds, by its encoders.
Ghost: the set-point. The bodies are the cuboids of their mass and inertia. Where a scenario has a satellite's centre of mass
at the rod's tip (in one degree of freedom it makes no difference), the body is drawn set back along the approach, clear of the
frames.
"""

import math

import numpy as np

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import so3, spatial, vec
from hilt.scene.drawing import Drawing
from hilt.scene.placing import UPRIGHT, put, put_arrow
from hilt.scene.robot import JOINTS, ROBOT, add_robot, put_robot
from hilt.scene.shapes import Part, Scene, Z, box, cuboid, rod, satellite, sphere, turn_to
from hilt.systems.docking.docking import Docking

CLEAR = 0.30  # m between a satellite's face and the tip
LEAST = 0.25  # m, half the depth of a satellite that is not set back
OVER = 1.01  # mock-up relative to body, so that its lines are drawn just outside
CONE_BARS = 12  # a cone is drawn as a cage

PARAMS = record(
    nodes="i8",
    target="i8",
    frames="i8",
    servicer="i8",
    mock="i8",
    wanted="i8",
    tip="i8",
    force="i8",
    drive="i8",
    far="i8",
    X_TW=7,
    X_AB=7,
    tip_B=3,
    start=3,
    above=3,
    least="f8",
    robot=ROBOT,
)
STATE = record(q=JOINTS)


@jit_apart
def pose(row, x, p, out):
    sig, x, p = row[0], x[0], p[0]
    put(out, p.target, (0.0, 0.0, 0.0), UPRIGHT)
    put(out, p.frames, vec.load(p.start), UPRIGHT)
    put(out, p.servicer, *_simulated(sig, p))
    measured = spatial.load(sig.X_WB_meas)
    known = put(out, p.mock, measured[0], measured[1])
    put(out, p.tip, spatial.place(measured, vec.load(p.tip_B)), measured[1])
    put(out, p.wanted, vec.load(sig.X_WB_cmd.p), so3.load(sig.X_WB_cmd.q))
    put_robot(out, p.robot, x.q, measured[0], measured[1], known)
    f = vec.load(sig.F_C_true_W)
    put_arrow(out, p.nodes, p.force, vec.load(sig.p_C_true_W), f, p.least)
    put_arrow(out, p.nodes, p.drive, vec.load(sig.p_C_des_W), vec.load(sig.F_hat_W), p.least)
    put_arrow(out, p.nodes, p.far, vec.load(p.above), f, p.least)


@jit_apart
def _simulated(sig, p):
    """X_WB of the simulated servicer: (X_NT X_TW)⁻¹ X_NA X_AB."""
    X_TW, X_AB = (vec.load(p.X_TW), so3.load(p.X_TW[3:])), (vec.load(p.X_AB), so3.load(p.X_AB[3:]))
    X_NW = spatial.compose(spatial.load(sig.X_NT), X_TW)
    return spatial.compose(spatial.inverse(X_NW), spatial.compose(spatial.load(sig.X_NA), X_AB))


def _body(size: np.ndarray, centre: np.ndarray, tip: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return centre and size of a satellite drawn along `direction` from the tip, clear of it."""
    axis = int(np.argmax(np.abs(direction)))
    room = float(np.dot(centre - tip, direction)) - CLEAR
    half = 0.5 * size[axis]
    if room >= LEAST:  # the scenario gives a real distance: keep it and shrink the body to fit
        fitting = size.copy()
        fitting[axis] = 2.0 * min(half, room)
        return centre, fitting
    return centre + (CLEAR + half - float(np.dot(centre - tip, direction))) * direction, size


def plate_of(values: Docking) -> float:
    """Side length of a frame [m]; larger if the bodies turn, because the tip then slides along it."""
    return (12.0 if values.rotates else 6.0) * values.frames.gap


def _frames(scene: Scene, values: Docking, to_target: np.ndarray) -> int:
    """Add two plates (the rear with a hole for the rod) or a cone in front, four bars between them and one to the target."""
    gap, n = values.frames.gap, np.array(values.frames.n_W)
    turn = turn_to(values.frames.n_W)
    side, thick = plate_of(values), 0.4 * gap

    def at(u: float, v: float, along: float) -> np.ndarray:
        return np.array(so3.rotate(turn, (u, v, along)))

    parts: list[Part] = [box((side, side, thick), n * (gap + 0.5 * thick), turn)]
    if values.frames.cone > 0:
        rim = min(0.5 * side, 1.5 * gap / math.tan(values.frames.cone))
        end = gap - rim * math.tan(values.frames.cone)
        angles = np.linspace(0.0, 2.0 * math.pi, CONE_BARS, endpoint=False)
        parts = [rod(at(0.0, 0.0, gap), at(rim * math.cos(a), rim * math.sin(a), end), 0.1 * gap) for a in angles]

    rear = -gap - 0.5 * thick
    for u, v, size in (
        (0.375 * side, 0.0, (0.25 * side, side, thick)),
        (-0.375 * side, 0.0, (0.25 * side, side, thick)),
        (0.0, 0.375 * side, (0.5 * side, 0.25 * side, thick)),
        (0.0, -0.375 * side, (0.5 * side, 0.25 * side, thick)),
    ):
        parts.append(box(size, at(u, v, rear), turn))
    for u in (-0.45, 0.45):
        for v in (-0.45, 0.45):
            parts.append(rod(at(u * side, v * side, -gap), at(u * side, v * side, gap), 0.1 * gap))
    parts.append(rod(n * (gap + thick), to_target, 0.02, "target"))
    return scene.node("frames", "frames", "static", "wall", *parts)


def _gear(values: Docking, direction: np.ndarray, back: float) -> list[Part]:
    """Rod and head, in the assembly frame."""
    tip, radius = np.array(values.rod.tip), max(values.rod.radius, 1e-3)
    return [
        sphere(radius, values.rod.tip, "tool"),
        rod(tip, tip - 0.15 * direction, 0.5 * radius, "tool"),
        rod(tip - 0.15 * direction, tip - back * direction, 0.02, "tool"),
    ]


def draw(values: Docking) -> Drawing:
    scene, p = Scene(scale_bar=0.01), np.zeros(1, PARAMS)
    view = p[0]
    start, tip = np.array(values.start_of_tip), np.array(values.rod.tip)
    direction = np.array(values.approach.velocity) / values.approach.speed
    q_A, q_T = values.servicer.assembly_attitude, values.target.assembly_attitude
    view.X_AB[:3], view.X_AB[3:] = values.servicer.assembly_position, q_A
    view.X_TW[:3], view.X_TW[3:] = values.target.assembly_position, q_T
    view.tip_B, view.start = tip, start

    # Both bodies in their assembly frames, which are W's and U's axes.
    centre_A = -np.array(so3.rotate_back(q_A, values.servicer.assembly_position))
    centre_T = -np.array(so3.rotate_back(q_T, values.target.assembly_position))
    at_A, size_A = _body(cuboid(values.servicer.mass, values.servicer.inertia), centre_A, tip, -direction)
    at_B, size_B = _body(cuboid(values.target.mass, values.target.inertia), centre_T, start, direction)
    label = f"target, {values.target.mass:g} kg"
    view.target = scene.node("target", label, "solid", "target", *satellite(size_B, at_B))
    face = at_B - start - direction * 0.45 * size_B[int(np.argmax(np.abs(direction)))]
    view.frames = _frames(scene, values, face)
    back = float(np.dot(tip - at_A, direction))
    parts = satellite(size_A, at_A) + _gear(values, direction, back)
    view.servicer = scene.node("servicer", f"servicer, {values.servicer.mass:g} kg", "solid", "body", *parts)
    parts = [box(OVER * size_A, at_A), *_gear(values, direction, back)]
    view.mock = scene.node("mock-up", "mock-up on the robot", "wire", "slave", *parts)
    view.tip = scene.node("tip", "tip of the real rod", "wire", "tool", sphere(1.05 * max(values.rod.radius, 1e-3)))
    view.wanted = scene.node("set-point", "set-point", "ghost", "tool", *_gear(values, direction, 0.2))

    lying = direction - np.dot(direction, Z) * np.array(Z)
    facing = lying / np.linalg.norm(lying) if np.linalg.norm(lying) > 0.1 else np.array((1.0, 0.0, 0.0))
    angle = math.atan2(facing[1], facing[0])
    mount_q = so3.exp((0.0, 0.0, angle))
    flange = at_A - (0.5 * OVER * size_A[int(np.argmax(np.abs(direction)))]) * direction
    add_robot(scene, view.robot, np.array(values.approach.position) + flange, facing, flange, mount_q)

    peak = values.approach.speed * math.sqrt(values.contact.stiffness * values.reduced_mass)
    gap = values.frames.gap
    view.least = 0.002 * peak
    view.force = scene.arrow("force", "contact force on the target", "N", 3.0 * gap / peak, "force")
    view.drive = scene.arrow("drive", "force that drives the bodies", "N", 3.0 * gap / peak, "virtual")
    view.far = scene.arrow("far", "contact force, enlarged", "N", 1.2 / peak, "force")
    view.above = start + np.array(Z) * (0.5 * max(size_A[2], size_B[2]) + 0.25)
    view.nodes = len(scene.nodes)
    scene.trail("tip", "tool")
    scene.workspace(values.limits.workspace_min, values.limits.workspace_max, 10.0)
    _views(scene, values, view, size_A, at_A, size_B, at_B)
    return Drawing(scene, pose, np.zeros(1, STATE), p)


def _views(scene: Scene, values: Docking, view, size_A, at_A, size_B, at_B) -> None:
    """Add two close views of the frames, where centimetres matter, and two of the whole scene."""
    start, n = view.start, np.array(values.frames.n_W)
    low, high = min(view.robot.stand[0] - 0.4, at_A[0] - 0.5 * size_A[0]), at_B[0] + 0.5 * size_B[0]
    bottom, top = view.robot.stand[2], view.above[2] + 0.2
    whole = np.array((0.5 * (low + high), start[1], 0.5 * (bottom + top)))
    span = 1.25 * max(high - low, 1.2 * (top - bottom))
    across = np.array(Z) - n[2] * n if abs(n[2]) < 0.9 else np.array((0.0, 1.0, 0.0))  # sees the gap edge-on
    close = 1.5 * plate_of(values)
    scene.look("top", start, across, close, np.cross(across, n))
    scene.look("side", whole, (0.0, -1.0, 0.0), span)
    scene.look("front", whole, (-0.55, -1.0, 0.45), 1.1 * span)
    tip, direction = np.array(values.rod.tip), np.array(values.approach.velocity) / values.approach.speed
    face = float((tip - at_A) @ direction) - 0.5 * size_A[int(np.argmax(np.abs(direction)))]  # in front of the servicer
    back = min(close, 0.9 * face) if face > 0.0 else close
    scene.view("tool camera", tip - back * direction + (0.0, -0.45 * close, 0.55 * close), tip, close, node="mock-up")
