"""The real side of `aerial`: the hardware arm by its joint angles, the hand that holds its tool, hook and cable.

It is drawn beside the flying arm, far enough that the two cannot be mixed up, and shifted across the plane in which the
arm reaches out: seen from the side the two overlap, as their frames do.
"""

import math

from hilt.scene.shapes import Part, Scene, Y, Z, box, cylinder, rod, sphere
from hilt.systems.aerial.cable import Cable
from hilt.systems.aerial.hardware_arm import AXES, HEIGHTS, JOINTS, WRIST_TO_FLANGE

BESIDE = (0.0, -1.1, 0.0)  # m, in H
PEDESTAL = 0.6  # m
CABLE_LENGTH = 1.6  # m
CABLE_RADIUS = 0.006  # m
RADII = (0.075, 0.072, 0.066, 0.064, 0.058, 0.056, 0.045)  # m, of the links


def add_hardware(scene: Scene, tool_length: float) -> int:
    """Base, seven links, tool; returns the number of the first node."""
    stand = [box((0.36, 0.36, PEDESTAL), (0.0, 0.0, -0.5 * PEDESTAL), colour="table"), cylinder(0.09, 0.14, (0, 0, 0.07))]
    first = scene.node("hardware-base", "hardware arm", "wire", "robot", *stand)
    for i in range(JOINTS):
        length = HEIGHTS[i + 1] if i + 1 < JOINTS else WRIST_TO_FLANGE
        parts = [cylinder(RADII[i], length, (0.0, 0.0, 0.5 * length))] if length > 0.0 else []
        if AXES[i] != Z:
            parts.append(cylinder(1.05 * RADII[i], 2.2 * RADII[i], along=Y))
        if i == JOINTS - 1:
            parts.append(rod((0, 0, length), (0, 0, length + tool_length), 0.02, "tool"))
            parts.append(cylinder(0.045, 0.03, (0, 0, length + 0.015), colour="tool"))
        scene.node(f"hardware-{i + 1}", f"hardware arm: link {i + 1}", "wire", "robot", *parts)
    scene.node("hardware-tool", "hardware's tool", "wire", "tool", sphere(0.025))
    return first


def hand_parts() -> list[Part]:
    """A hand from the side, its grip at the origin; the human stands ahead, at +x."""
    parts = [box((0.09, 0.045, 0.08), (0.05, 0.0, 0.0))]
    parts += [cylinder(0.010, 0.06, (-0.012, 0.0, -0.03 + 0.02 * i), Y) for i in range(4)]
    parts.append(rod((0.03, 0.0, 0.04), (-0.01, 0.02, 0.055), 0.011))  # the thumb
    parts.append(rod((0.09, 0.0, 0.0), (0.38, 0.0, -0.10), 0.035))
    return parts


def hook_parts(cable: Cable) -> list[Part]:
    """The V up to its mouth and the slot under it; sideways is x here."""
    tall, wall = cable.mouth_height, 0.003
    long = math.hypot(tall, cable.mouth)
    parts = []
    for side in (-1.0, 1.0):
        half = 0.5 * side * cable.half_angle
        turn = (math.cos(half), 0.0, math.sin(half), 0.0)
        parts.append(box((wall, 0.03, long), (side * (0.5 * cable.mouth + wall), 0.0, 0.5 * tall), turn))
        parts.append(box((wall, 0.03, cable.bottom), (side * (CABLE_RADIUS + wall), 0.0, -0.5 * cable.bottom)))
    parts.append(box((4.0 * CABLE_RADIUS, 0.03, wall), (0.0, 0.0, -cable.bottom - CABLE_RADIUS)))
    return parts


def add_cable(scene: Scene, cable: Cable) -> int:
    """Cable and hook, as the simulation has them and as the hardware has them; returns the number of the first of four."""
    line = cylinder(CABLE_RADIUS, CABLE_LENGTH, along=Y)
    first = scene.node("cable", "cable", "solid", "cable", line)
    scene.node("hook", "hook", "solid", "tool", *hook_parts(cable))
    short = cylinder(CABLE_RADIUS, 0.5 * CABLE_LENGTH, along=Y)
    scene.node("hardware-cable", "real cable", "wire", "cable", short)
    scene.node("hardware-hook", "real hook", "wire", "tool", *hook_parts(cable))
    return first
