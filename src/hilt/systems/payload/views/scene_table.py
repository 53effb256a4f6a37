"""The motion table under the mock-up: X-Y stage, base, six cranks by `hexa_angles`, rods, and the plate at the set-point."""

import math

import numpy as np

from hilt.compiled import jit_apart
from hilt.core.signals import record
from hilt.maths import so3, vec
from hilt.scene.placing import UPRIGHT, put
from hilt.scene.shapes import Scene, X, Y, box, cylinder, rod
from hilt.systems.payload.hexa import HEXA, LEGS, Hexa, XYStage, pack_hexa

UNDER = 0.16  # m from the base down to the stage
FLOOR = 0.34  # m from the base down to the floor
RADIUS = 0.014  # m, of a rod

TABLE = record(first="i8", hexa=HEXA.params, azimuth=LEGS)


def add_table(scene: Scene, p, hexa: Hexa, stage: XYStage) -> None:
    """Bed, carriage along x, base, cranks, plate; rods are links."""
    pack_hexa(p.hexa, hexa)
    out, half = hexa.base_radius, hexa.base_half_spacing
    long_x, long_y = 2.0 * stage.travel_x + 1.0, min(2.0 * stage.travel_y + 0.8, 1.6)
    p.first = scene.node(
        "stage-bed",
        "X-Y stage",
        "wire",
        "table",
        *(box((long_x, 0.10, 0.06), (0.0, side * 0.35, -0.09)) for side in (-1.0, 1.0)),
    )
    scene.node(
        "stage-carriage",
        "X-Y stage: carriage",
        "wire",
        "table",
        *(box((0.10, long_y, 0.06), (side * 0.35, 0.0, -0.03)) for side in (-1.0, 1.0)),
    )
    parts = [cylinder(1.1 * out, 0.05, (0.0, 0.0, -0.06))]
    for pair in range(3):
        turn = 2.0 * math.pi / 3.0 * pair
        q = (math.cos(0.5 * turn), 0.0, 0.0, math.sin(0.5 * turn))
        parts.append(box((0.10, 2.0 * half - 0.03, 0.10), (out * math.cos(turn), out * math.sin(turn), 0.0), q))
    scene.node("table-base", "motion table", "wire", "table", *parts)
    for i in range(LEGS):
        p.azimuth[i] = 2.0 * math.pi / 3.0 * (i // 2)
        scene.node(
            f"crank-{i + 1}",
            f"crank {i + 1}",
            "wire",
            "table",
            rod((0, 0, 0), (hexa.crank, 0, 0), 0.025),
            cylinder(0.04, 0.03, along=Y),
        )
    joints = [tuple(float(part) for part in joint) for joint in p.hexa.joints]
    outline = [rod(joints[i], joints[(i + 1) % LEGS], 0.018) for i in range(LEGS)]
    scene.node("plate", "plate of the table", "wire", "table", cylinder(hexa.plate_radius, 0.02), *outline)
    for i in range(LEGS):
        ends, at = (f"crank-{i + 1}", "plate"), (tuple(hexa.crank * np.array(X)), joints[i])
        scene.link(f"rod-{i + 1}", ends, at, RADIUS, "wire", "table")


@jit_apart
def put_table(out, p, stage_xy, angles, plate_p, plate_q):
    x, y, z = vec.load(p.hexa.centre)
    bottom = z - p.hexa.height
    put(out, p.first, (x, y, bottom - UNDER), UPRIGHT)
    put(out, p.first + 1, (x + stage_xy[0], y, bottom - UNDER + 0.06), UPRIGHT)
    at = (x + stage_xy[0], y + stage_xy[1], bottom)
    put(out, p.first + 2, at, UPRIGHT)
    for i in range(LEGS):
        turn = so3.multiply(so3.exp((0.0, 0.0, p.azimuth[i])), so3.exp((0.0, -angles[i], 0.0)))
        put(out, p.first + 3 + i, vec.add(at, vec.load(p.hexa.pivots[i])), turn)
    put(out, p.first + 3 + LEGS, plate_p, plate_q)
