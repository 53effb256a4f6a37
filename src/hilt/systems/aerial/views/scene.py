"""aerial: the simulated flying arm, solid, and beside it the real arm with the human's hand, wire; the planned position of
the base is a ghost. Both arms are drawn from the tables of their models with the joint angles of the row.

Rotors are drawn at a hundredth of their speed: at the real one a screen shows only noise.
"""

import math

import numpy as np

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import so3, spatial, vec
from hilt.maths.chain import CHAIN
from hilt.scene.drawing import Drawing
from hilt.scene.placing import hide, put, put_arrow, put_chain
from hilt.scene.shapes import Part, Scene, Z, box, cone, cylinder, edges, rod, sphere
from hilt.systems.aerial.aerial import Aerial
from hilt.systems.aerial.flying_arm import LINKS, SHOULDER, X, Y, pack_flying_chain
from hilt.systems.aerial.hand import HOLDS
from hilt.systems.aerial.hardware_arm import pack_iiwa
from hilt.systems.aerial.views.scene_hardware import BESIDE, CABLE_LENGTH, add_cable, add_hardware, hand_parts

SLOWED = 0.01  # rotors
LONGEST = 0.5  # s between two rows over which rotors keep turning; a seek does not turn them
FORCE = 0.03  # m/N
LEAST = 0.05  # N
ROTORS = 4

PARAMS = record(
    nodes="i8",
    body="i8",
    rotor="i8",
    arm="i8",
    planned="i8",
    hardware="i8",
    hand="i8",
    mounted="i8",
    real_mounted="i8",
    cable="i8",
    box="i8",
    rotor_arm="f8",
    flying=CHAIN,
    iiwa=CHAIN,
    X_NH=7,
    X_VH=7,
    grip_B=3,
    hook_B=3,
    q_EB=4,
    q_hook=4,
    handover="f8",
    carries="i8",
    somebody="i8",
    human="i8",
    applied="i8",
    estimate="i8",
    wind="i8",
    push="i8",
    pull="i8",
)
STATE = record(t="f8", angle=ROTORS)


@jit_apart
def _put_vehicle(out, sig, x, p):
    X_Nb = spatial.load(sig.X_Nb_meas)
    put(out, p.body, X_Nb[0], X_Nb[1])
    dt = sig.t - x.t
    if math.isfinite(sig.t):
        x.t = sig.t
    for i in range(ROTORS):
        sense = 1.0 if i % 2 == 0 else -1.0
        turn = sense * SLOWED * sig.rotor_speed_acting[i] * dt
        if abs(dt) < LONGEST and math.isfinite(turn):
            x.angle[i] = (x.angle[i] + turn) % (2.0 * math.pi)
        quarter = 0.5 * math.pi * i
        at = (p.rotor_arm * math.cos(quarter), p.rotor_arm * math.sin(quarter), 0.06)
        X_Nr = spatial.compose(X_Nb, (at, so3.exp((0.0, 0.0, x.angle[i]))))
        put(out, p.rotor + i, X_Nr[0], X_Nr[1])
    put_chain(out, p.arm, p.flying, sig.q_uam, X_Nb[0], X_Nb[1])
    put(out, p.planned, vec.load(sig.p_bd_N), so3.exp((0.0, 0.0, sig.yaw_bd)))


@jit_apart
def _put_cable(out, sig, p, X_NH, X_VH, X_NE, X_VB):
    """In the simulated world N and beside it, V."""
    at = vec.load(sig.p_cable_true_H)
    turned = so3.multiply(X_NH[1], so3.load(p.q_hook))
    put(out, p.cable, spatial.place(X_NH, at), turned)
    put(out, p.cable + 1, spatial.place((X_NE[0], so3.multiply(X_NE[1], so3.load(p.q_EB))), vec.load(p.hook_B)), turned)
    put(out, p.cable + 2, spatial.place(X_VH, at), turned)
    put(out, p.cable + 3, spatial.place(X_VB, vec.load(p.hook_B)), turned)


@jit_apart
def _put_human(out, sig, p, X_VB, X_NE):
    holds = sig.hand_state == HOLDS and p.somebody
    if holds:
        put(out, p.hand, spatial.place(X_VB, vec.load(p.grip_B)), so3.load(p.X_VH[3:]))
    else:
        hide(out, p.hand)
    if p.mounted >= 0:
        left = sig.t >= p.handover and p.carries
        put(out, p.mounted, X_NE[0], X_NE[1])
        put(out, p.real_mounted, X_VB[0], so3.load(p.X_VH[3:]))
        if not left:
            hide(out, p.mounted)
            if not holds:
                hide(out, p.real_mounted)


@jit_apart
def pose(row, x, p, out):
    sig, x, p = row[0], x[0], p[0]
    X_NH, X_VH = (vec.load(p.X_NH), so3.load(p.X_NH[3:])), (vec.load(p.X_VH), so3.load(p.X_VH[3:]))
    X_NE, X_Nb = spatial.load(sig.X_NE), spatial.load(sig.X_Nb_meas)
    _put_vehicle(out, sig, x, p)
    put(out, p.hardware, X_VH[0], X_VH[1])
    put_chain(out, p.hardware + 1, p.iiwa, sig.q_hw, X_VH[0], X_VH[1])
    X_VB = spatial.compose(X_VH, spatial.load(sig.X_WB_cmd))
    if p.box >= 0:
        put(out, p.box, X_VH[0], X_VH[1])
    _put_human(out, sig, p, X_VB, X_NE)
    if p.cable >= 0:
        _put_cable(out, sig, p, X_NH, X_VH, X_NE, X_VB)
    put_arrow(out, p.nodes, p.human, X_VB[0], so3.rotate(X_VH[1], vec.load(sig.F_h_H.f)), LEAST)
    put_arrow(out, p.nodes, p.applied, X_NE[0], vec.load(sig.F_E_N.f), LEAST)
    put_arrow(out, p.nodes, p.estimate, X_Nb[0], vec.load(sig.f_hat_N), LEAST)
    put_arrow(out, p.nodes, p.wind, vec.add(X_Nb[0], (0.0, 0.0, 0.2)), vec.load(sig.wind_N), LEAST)
    put_arrow(out, p.nodes, p.push, X_NE[0], vec.load(sig.push_N), LEAST)
    put_arrow(out, p.nodes, p.pull, X_VB[0], so3.rotate(X_VH[1], vec.load(sig.F_cable_true_H)), LEAST)


def _frame_parts(arm: float) -> list[Part]:
    """Hub, four booms with motors, two skids."""
    parts = [
        cylinder(0.35 * arm, 0.05),
        cylinder(0.22 * arm, 0.05, (0, 0, 0.05)),
        cone(0.02, 0.05, (0.42 * arm, 0, 0), X, "tool"),
    ]
    for i in range(ROTORS):
        c, s = (round(part) for part in (math.cos(0.5 * math.pi * i), math.sin(0.5 * math.pi * i)))
        parts.append(rod((0, 0, 0), (arm * c, arm * s, 0), 0.010))
        parts.append(cylinder(0.018, 0.055, (arm * c, arm * s, 0.025)))
    return parts


def _rotor_parts(arm: float) -> list[Part]:
    """A blade on both sides, and the ring of its tips."""
    long = 0.66 * arm
    turns = [2.0 * math.pi * k / 24 for k in range(25)]
    ring = [(long * math.cos(a), long * math.sin(a), 0.0) for a in turns]
    blades = box((2.0 * long, 0.022, 0.004))
    return [blades, cylinder(0.012, 0.02), {"shape": "tube", "points": [list(point) for point in ring], "radius": 0.002}]


def _add_vehicle(scene: Scene, p, values: Aerial) -> None:
    arm = values.rotors.arm
    p.body = scene.node("vehicle", "flying base", "solid", "body", *_frame_parts(arm), rod((0, 0, 0), SHOULDER, 0.03))
    p.rotor = len(scene.nodes)
    for i in range(ROTORS):
        scene.node(f"rotor-{i + 1}", f"rotor {i + 1}", "solid", "rotor", *_rotor_parts(arm))
    p.arm = len(scene.nodes)
    for i, link in enumerate(LINKS):
        along = link.axis if link.reach == 0.0 else Z
        parts = [cylinder(link.radius, link.length, (0.0, 0.0, -0.5 * link.reach), along)]
        if link.axis == Y:
            parts.append(cylinder(1.2 * link.radius, 3.0 * link.radius, along=Y))
        scene.node(f"flying-{i + 1}", f"flying arm: link {i + 1}", "solid", "virtual", *parts)
    scene.node("tool", "simulated tool", "solid", "tool", sphere(0.014))
    ghost = [part for part in _frame_parts(arm) if part["shape"] == "cylinder"]
    p.planned = scene.node("planned", "planned position of the base", "ghost", "body", *ghost)
    pack_flying_chain(p.flying, values.flying_arm)
    p.rotor_arm = arm


def _add_human(scene: Scene, p, values: Aerial) -> None:
    p.hand = scene.node("hand", "human hand", "solid", "hand", *hand_parts())
    p.grip_B, p.handover, p.carries = values.hand.grip, values.hand.handover, values.hand.tool_mass > 0.0
    p.somebody = values.hand.stiffness > 0.0
    p.mounted = p.real_mounted = -1
    if values.hand.tool_mass > 0.0:
        p.mounted = scene.node("mounted", "mounted tool", "solid", "tool", box((0.05, 0.05, 0.05), (0, 0, -0.03)))
        p.real_mounted = scene.node("real-mounted", "mounted tool", "wire", "tool", box((0.05, 0.05, 0.05), (0, 0, -0.03)))


def draw(values: Aerial) -> Drawing:
    scene, p = Scene(scale_bar=0.1), np.zeros(1, PARAMS)
    params = p[0]
    (p_HB, q_HB), (p_NE, q_NE) = values.start_of_tool, values.start_of_simulated_tool
    p_NH, q_NH = values.frames.hardware_in_world(p_HB, p_NE)
    p_VH = vec.add(p_NH, so3.rotate(q_NH, BESIDE))
    params.X_NH[:3], params.X_NH[3:], params.X_VH[:3], params.X_VH[3:] = p_NH, q_NH, p_VH, q_NH
    params.q_EB = so3.multiply(so3.inverse(q_NE), so3.multiply(q_NH, q_HB))
    params.q_hook = (1.0, 0.0, 0.0, 0.0) if values.cable.along == "y" else so3.exp((0.0, 0.0, 0.5 * math.pi))
    params.hook_B = values.cable.hook
    _add_vehicle(scene, params, values)
    params.hardware = add_hardware(scene, values.hardware_arm.tool_length)
    pack_iiwa(params.iiwa, values.hardware_arm.tool_length)
    _add_human(scene, params, values)
    params.cable = add_cable(scene, values.cable) if values.cable.present else -1
    params.box = _add_box(scene, values, p_VH, q_NH)
    for name, key, label, colour in (
        ("human", "human", "measured force on the hardware's tool", "force"),
        ("applied", "applied", "the same on the simulated tool", "force"),
        ("estimate", "estimate", "estimated force on the vehicle", "virtual"),
        ("wind", "wind", "wind", "command"),
        ("push", "push", "push of the scenario", "command"),
        ("pull", "cable-force", "force of the cable on the tool", "cable"),
    ):
        params[name] = scene.arrow(key, label, "N", FORCE, colour)
    params.nodes = len(scene.nodes)
    scene.trail("tool", "virtual")
    scene.trail("hardware-tool", "robot")
    _views(scene, values, p_NE, p_VH, q_NH, p_HB)
    return Drawing(scene, pose, np.zeros(1, STATE), p)


def _add_box(scene: Scene, values: Aerial, p_VH, q_NH) -> int:
    """Where the hardware's tool may go: the scene's box, or edges when the hardware is rotated in N."""
    low, high = np.array(values.hardware_arm.box_min), np.array(values.hardware_arm.box_max)
    if abs(q_NH[0]) > 1.0 - 1e-12:
        scene.workspace(low + p_VH, high + p_VH, 10.0)
        return -1
    return scene.node("workspace", "workspace", "wire", "ground", *edges(high - low, 0.003, 0.5 * (low + high)))


def _views(scene: Scene, values: Aerial, p_NE, p_VH, q_NH, p_HB) -> None:
    """Three views of both arms, a fourth of the simulated tool."""
    places = np.array([point.position for point in values.planner.waypoints])
    tool, real = np.array(p_NE), np.array(vec.add(p_VH, so3.rotate(q_NH, p_HB)))
    middle = 0.5 * (tool + real) + 0.5 * (places.min(axis=0) + places.max(axis=0)) - places[0]
    travel = float(np.max(places.max(axis=0) - places.min(axis=0)))
    span = 2.1 + travel + (0.2 * CABLE_LENGTH if values.cable.present else 0.0)
    scene.look("top", middle - 0.15 * np.array(X), (0.0, 0.0, 1.0), span, (1.0, 0.0, 0.0))
    scene.look("side", middle - 0.1 * np.array(X), (0.0, -1.0, 0.1), 0.8 * span)
    scene.look("front", middle, (1.0, 0.25, 0.3), 1.1 * span)
    scene.view("tool camera", (0.42, -0.42, 0.12), (0.0, 0.0, 0.04), 0.42, node="tool")
