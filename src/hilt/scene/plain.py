"""The scene of a system without its own: set-point and robot pose, if its rows have them."""

from typing import Any

import numpy as np

from hilt.core.signals import record
from hilt.core.system import System
from hilt.maths import so3, vec
from hilt.scene.drawing import Drawing
from hilt.scene.placing import put
from hilt.scene.shapes import Scene, box

POSES = {"X_WB_cmd": ("set-point", "ghost", "tool"), "X_WB_meas": ("mock-up on the robot", "wire", "tool")}
SIDE = 0.2  # m


def draw(system: System, values: Any) -> Drawing:
    scene = Scene(scale_bar=0.1)
    found = [name for name in POSES if name in (system.row.names or ())]
    for name in found:
        label, style, colour = POSES[name]
        scene.node(name, label, style, colour, box((SIDE, SIDE, SIDE)))

    def pose(row, x, p, out):
        for i, name in enumerate(found):
            put(out, i, vec.load(row[0][name].p), so3.load(row[0][name].q))

    for view, direction, up in (
        ("top", (0.0, 0.0, 1.0), (0.0, 1.0, 0.0)),
        ("side", (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)),
        ("front", (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)),
        ("oblique", (1.0, -1.0, 1.0), (0.0, 0.0, 1.0)),
    ):
        scene.look(view, (0.0, 0.0, 0.0), direction, 2.0, up)
    limits = getattr(values, "limits", None)
    if limits is not None:
        scene.workspace(limits.workspace_min, limits.workspace_max, 10.0)
    nothing = np.zeros(1, record())
    return Drawing(scene, pose, nothing, nothing)
