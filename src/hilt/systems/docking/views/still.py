"""Servicer and target at each contact, seen from the side."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle, Polygon, Rectangle

from hilt.job import Result
from hilt.report.colours import MEASURED
from hilt.report.figure import Picture
from hilt.report.words import si
from hilt.systems.docking.docking import Docking
from hilt.systems.docking.metrics import Ideal
from hilt.systems.docking.views.contacts import SHOWN, Collision, collisions_of, grid, scenario_of

FRAME, HEAD = 1.0, 0.28  # half the distance between the drawn frames, radius of the drawn head
LARGEST, AWAY = 2.2, 1.5  # side of the heavier body, from the middle to the bodies
SERVICER, TARGET, STEEL = "#cfe0ef", "#e3ddd2", "#59636e"


def side_view(result: Result, wanted: Ideal) -> Picture:
    every = collisions_of(result)
    found = every[:SHOWN]
    across = _second_axis(scenario_of(result))
    force = np.linalg.norm(result.rows["F_C_true_W"], axis=1)
    peaks = {c.number: c.first + int(np.argmax(force[c.first : c.last + 1])) for c in found}
    largest = max(float(force[k]) for k in peaks.values())
    fig, panels = grid(len(found), 1.75 if any(_offsets(scenario_of(result), across)) else 1.35)
    for axes, collision in zip(panels, found, strict=True):
        k = peaks[collision.number]
        _bodies(axes, result, collision, k, across)
        _arrow(axes, collision, float(force[k]), largest)
        ideal = f", ideal {si(wanted.peaks[collision.number - 1], 'N', 3)}" if collision.number <= len(wanted.peaks) else ""
        axes.set_title(f"{collision.number}: {result.rows['t'][k]:.2f} s, {si(float(force[k]), 'N', 3)}{ideal}", fontsize=8.5)
    caption = (
        "At the largest force of each collision, in the plane of the frames' normal and the lever arms; arrow: force on the "
        "target. Not to scale: bodies by the cube root of their mass, the free travel enlarged."
    )
    if len(every) > SHOWN:
        caption += f" The first {SHOWN} of {len(every)} collisions."
    return Picture("Side view of the contacts", caption, fig)


def _second_axis(scenario: Docking) -> np.ndarray:
    """Direction across the normal in which the centres of mass are farthest off; upwards if they are on it."""
    normal = np.array(scenario.frames.n_W)
    arm_A, _, at_B, _ = scenario.lever_arms()
    for lever in (at_B - np.array(scenario.start_of_tip), -arm_A, np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])):
        off = lever - np.dot(lever, normal) * normal
        if np.linalg.norm(off) > 1e-6:
            across: np.ndarray = off / np.linalg.norm(off)
            return across if across[int(np.argmax(np.abs(across)))] > 0 else -across
    raise AssertionError("one of two directions is across the normal")


def _offsets(scenario: Docking, across: np.ndarray) -> tuple[float, float]:
    """Offsets of the centres of mass from the tip, servicer and target, scaled so that the larger is drawn as 0.8."""
    arm_A, _, at_B, _ = scenario.lever_arms()
    off = -float(np.dot(arm_A, across)), float(np.dot(at_B - np.array(scenario.start_of_tip), across))
    largest = max(abs(off[0]), abs(off[1]))
    return (0.8 * off[0] / largest, 0.8 * off[1] / largest) if largest > 1e-6 else (0.0, 0.0)


def _turn(result: Result, k: int, across: np.ndarray) -> float:
    """Angle [rad] of the servicer relative to the target in the drawn plane."""
    q = result.rows["X_WB_cmd"]["q"][k]
    normal = np.array(scenario_of(result).frames.n_W)
    size = float(np.linalg.norm(q[1:]))
    if size < 1e-12:
        return 0.0
    vector = 2.0 * math.atan2(size, float(q[0])) / size * q[1:]
    return float(np.dot(vector, np.cross(normal, across)))


def _bodies(axes: Axes, result: Result, collision: Collision, k: int, across: np.ndarray) -> None:
    scenario = scenario_of(result)
    heavier = max(scenario.servicer.mass, scenario.target.mass)
    side_A, side_B = (LARGEST * (body.mass / heavier) ** (1 / 3) for body in (scenario.servicer, scenario.target))
    off_A, off_B = _offsets(scenario, across)
    turn = _turn(result, k, across)
    tip = collision.side * (FRAME - HEAD)

    plate = {"color": STEEL, "linewidth": 0}
    axes.add_patch(Rectangle((FRAME, -0.75), 0.12, 1.5, **plate))  # type: ignore[arg-type]
    for low in (-0.75, 0.25):  # the rear frame has a hole for the rod
        axes.add_patch(Rectangle((-FRAME - 0.12, low), 0.12, 0.5, **plate))  # type: ignore[arg-type]
    for height in (-0.75, 0.65):
        axes.add_patch(Rectangle((-FRAME - 0.12, height), 2 * FRAME + AWAY - 0.9, 0.1, **plate))  # type: ignore[arg-type]
    centre_B = (AWAY + 0.5 * side_B, off_B)
    axes.add_patch(Rectangle((AWAY, off_B - 0.5 * side_B), side_B, side_B, facecolor=TARGET, edgecolor=STEEL))
    axes.plot([FRAME + 0.12, AWAY], [0.0, 0.0], color=STEEL, linewidth=3, solid_capstyle="butt")

    centre_A = (-AWAY - 0.35 - 0.5 * side_A, off_A)
    c, s = math.cos(turn), math.sin(turn)
    corners = 0.5 * side_A * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) @ np.array([[c, s], [-s, c]]) + np.array(centre_A)
    axes.plot([-AWAY - 0.35, tip], [0.0, 0.0], color="black", linewidth=1.6)
    if abs(off_A) > 0.5 * side_A:  # the body is off the rod: a bracket between them
        axes.plot([centre_A[0], centre_A[0], tip], [off_A, 0.0, 0.0], color="black", linewidth=1.6)
    axes.add_patch(Polygon(corners, facecolor=SERVICER, edgecolor=STEEL))
    axes.add_patch(Circle((tip, 0.0), HEAD, facecolor="white", edgecolor="black", zorder=3))
    for centre, body, side in ((centre_A, scenario.servicer, side_A), (centre_B, scenario.target, side_B)):
        axes.plot(*centre, "+", color="black", markersize=5)
        inside = side > 1.5  # else there is no room for the label
        foot = (centre[0], centre[1] if inside else centre[1] - 0.5 * side)
        axes.annotate(f"{body.mass:g} kg", foot, (0, -4), textcoords="offset points", ha="center", va="top", fontsize=7)
    if abs(turn) > 1e-4:
        axes.text(-3.6, -1.9, f"turned {math.degrees(turn):.2g}°", fontsize=7)
    tall = 1.95 if off_A or off_B else 0.5 * LARGEST + 0.1
    axes.set(xlim=(-3.6, AWAY + LARGEST + 0.25), ylim=(-tall, tall), aspect="equal")
    axes.axis("off")


def _arrow(axes: Axes, collision: Collision, force: float, largest: float) -> None:
    """Arrow on the target, from the head into the frame; its length grows with the force."""
    start = collision.side * (FRAME - 2 * HEAD) * 0.9
    length = 0.5 + 1.0 * force / max(largest, 1e-12)
    axes.annotate(
        "",
        (start + collision.side * length, 0.0),
        (start, 0.0),
        zorder=4,
        arrowprops={"arrowstyle": "-|>", "color": MEASURED, "linewidth": 2.2},
    )
