"""The scene of a system: what the page draws, and where everything is in a row."""

import copy
from typing import Any

import numpy as np

from hilt.cockpit import scenes
from hilt.core.scenario import Scenario
from hilt.core.system import System


class StageView:
    """The static scene of a scenario, and the numbers of each row in it."""

    def __init__(self, system: System, values: Scenario) -> None:
        self.scene: dict[str, Any] = scenes.describe(system, values)
        self.nodes, self.arrows = len(self.scene["nodes"]), len(self.scene["arrows"])
        self._of = system, values
        self.begin()
        self._still = [place for place, node in enumerate(self.scene["nodes"]) if node["style"] == "static"]

    def begin(self) -> None:
        """Start over: the next row does not follow the last one, so postures are found from scratch."""
        self._poser = scenes.Poser(*self._of)

    def pose(self, row: Any) -> np.ndarray:
        found: np.ndarray = self._poser.pose(row)
        return found

    def pose_as_guest(self, row: Any) -> np.ndarray:
        """The same for another scene, which has ground and walls already."""
        found = self.pose(row)
        for place in self._still:
            found[8 * place + 7] = 0.0
        return found


def together(parts: list[dict[str, Any]], prefixes: list[str]) -> dict[str, Any]:
    """Merge several scenes: the first unchanged, the others as ghosts in it; ids get the prefixes."""
    merged = {**copy.deepcopy(parts[0]), **{kind: [] for kind in ("nodes", "links", "arrows", "trails")}}
    for number, (part, prefix) in enumerate(zip(copy.deepcopy(parts), prefixes, strict=True)):
        for kind in ("nodes", "links", "arrows", "trails"):
            for item in part[kind]:
                for key in ("id", "from", "to", "node"):
                    if key in item:
                        item[key] = prefix + item[key]
                if number and "style" in item:
                    item["style"] = "ghost"
                if number and item.get("label"):
                    item["label"] += f" {'ABCDEF'[number]}"
                merged[kind].append(item)
    for view in merged["views"]:
        if "node" in view:
            view["node"] = prefixes[0] + view["node"]
    return merged
