"""Pictures of runs: what is drawn (`describe`, once) and where everything is (`Poser.pose`, for each row).

A scene is made of plain nodes, arrows and views, so the page needs to know no system. A system has a module `views.scene` with

    draw(values) -> Drawing        the scene, and what its compiled `pose(row, x, p, out)` needs

which takes its geometry from the scenario and from the models that the run itself computes with.
"""

from typing import Any

import numpy as np

from hilt.core.scenario import Scenario
from hilt.core.system import System
from hilt.scene import plain
from hilt.scene.drawing import Drawing


def _draw(system: System, values: Any) -> Drawing:
    own = system.part("views.scene")
    drawing: Drawing = plain.draw(system, values) if own is None else own.draw(values)
    return drawing


def describe(system: System, values: Scenario) -> dict[str, Any]:
    """Return what is drawn, as JSON."""
    return _draw(system, values).scene.describe()


class Poser:
    """Where everything is, row by row. Only rotors have a memory of their angle; all else is in the row."""

    def __init__(self, system: System, values: Scenario) -> None:
        drawing = _draw(system, values)
        self._pose, self._x, self._p = drawing.pose, drawing.x, drawing.p
        self._row = np.zeros(1, system.row)
        nodes = len(drawing.scene.nodes)
        self._out = np.zeros(8 * nodes + 7 * len(drawing.scene.arrows), np.float32)
        self._out[3 : 8 * nodes : 8] = 1.0  # a valid attitude even for what is not shown yet
        self.pose(self._row[0])  # compiles now, where it may take a while, and not when frames are due

    def pose(self, row: Any) -> np.ndarray:
        """Return eight numbers for each node, then seven for each arrow."""
        self._row[0] = row
        self._pose(self._row, self._x, self._p, self._out)
        return self._out.copy()
