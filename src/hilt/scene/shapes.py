"""The elements of a scene: nodes with parts, links between them, arrows, trails and views; plain data for the page.

Styles: solid is simulated, wire is real, ghost is commanded or seen late, static never moves.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Vector = Sequence[float] | np.ndarray
Part = dict[str, Any]

STYLES = ("solid", "wire", "ghost", "static")
COLOURS = (
    "body",
    "target",
    "robot",
    "slave",
    "virtual",
    "tool",
    "table",
    "ground",
    "rotor",
    "cable",
    "hand",
    "wall",
)
X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
DENSITY = 150.0  # kg/m³, of a satellite
TRAIL = 20.0  # s
PANEL = "rotor"  # the darkest: solar cells


def _plain(value: Any) -> Any:
    """Convert numbers and arrays to JSON types."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list | tuple | np.ndarray):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, float | np.floating) else value


def turn_to(direction: Vector) -> tuple[float, float, float, float]:
    """Return the shortest rotation (w, x, y, z) that turns z along a direction."""
    x, y, z = (part / math.sqrt(sum(part * part for part in direction)) for part in direction)
    if z < -1.0 + 1e-12:
        return (0.0, 1.0, 0.0, 0.0)
    half = math.sqrt(0.5 * (1.0 + z))
    return (half, -0.5 * y / half, 0.5 * x / half, 0.0)


def box(size: Vector, at: Vector | None = None, turn: Vector | None = None, colour: str | None = None) -> Part:
    return _plain({"shape": "box", "size": size, "at": at, "turn": turn, "colour": colour})


def cylinder(radius: float, length: float, at: Vector | None = None, along: Vector = Z, colour: str | None = None) -> Part:
    """Return a cylinder centred at `at`."""
    turn = None if tuple(along) == Z else turn_to(along)
    return _plain({"shape": "cylinder", "radius": radius, "length": length, "at": at, "turn": turn, "colour": colour})


def cone(radius: float, length: float, at: Vector | None = None, along: Vector = Z, colour: str | None = None) -> Part:
    """Return a cone centred at `at`, its tip along `along`."""
    turn = None if tuple(along) == Z else turn_to(along)
    return _plain({"shape": "cone", "radius": radius, "length": length, "at": at, "turn": turn, "colour": colour})


def sphere(radius: float, at: Vector | None = None, colour: str | None = None) -> Part:
    return _plain({"shape": "sphere", "radius": radius, "at": at, "colour": colour})


def tube(points: Sequence[Vector], radius: float, colour: str | None = None) -> Part:
    return _plain({"shape": "tube", "points": points, "radius": radius, "colour": colour})


def rod(start: Vector, end: Vector, radius: float, colour: str | None = None) -> Part:
    """Return a cylinder from one point to another."""
    a, b = np.array(start, float), np.array(end, float)
    return cylinder(radius, float(np.linalg.norm(b - a)), 0.5 * (a + b), b - a, colour)


def edges(size: Vector, radius: float, at: Vector = (0.0, 0.0, 0.0), colour: str | None = None) -> list[Part]:
    """Return the twelve edges of a box, as rods."""
    made = []
    for axis in range(3):
        for u in (-0.5, 0.5):
            for v in (-0.5, 0.5):
                first, second = (axis + 1) % 3, (axis + 2) % 3
                start, end = list(at), list(at)
                for corner, side in ((start, -0.5), (end, 0.5)):
                    corner[axis] += side * size[axis]
                    corner[first] += u * size[first]
                    corner[second] += v * size[second]
                made.append(rod(start, end, radius, colour))
    return made


def cuboid(mass: float, inertia: Sequence[Vector] | None) -> np.ndarray:
    """Return the sides [m] of the homogeneous cuboid with this mass and inertia; by default a cube of satellite density."""
    if inertia is None:
        return np.full(3, min(max((mass / DENSITY) ** (1.0 / 3.0), 0.1), 6.0))
    moments = np.diag(np.array(inertia))
    squares = 6.0 * (moments.sum() - 2.0 * moments) / mass
    return np.clip(np.sqrt(np.maximum(squares, 0.0)), 0.1, 6.0)


def satellite(size: Vector, at: Vector = (0.0, 0.0, 0.0), wings: int = 1, colour: str | None = None) -> list[Part]:
    """Return a bus with two solar wings along an axis (1 is y)."""
    middle = np.array(at, float)
    across = np.eye(3)[wings]
    parts = [box(size, at, colour=colour)]
    reach, broad = 0.8 * float(max(size)), 0.55 * float(size[0 if wings else 2])
    panel = np.full(3, 0.02)
    panel[wings], panel[0 if wings else 2] = reach, broad
    for side in (-1.0, 1.0):
        root = middle + side * 0.5 * size[wings] * across
        parts.append(rod(root, root + side * 0.25 * reach * across, 0.02 * float(max(size))))
        parts.append(box(panel, root + side * 0.75 * reach * across, colour=PANEL))
    return parts


class Scene:
    """Collects what is drawn; nodes and arrows are numbered in the order in which `pose` writes them."""

    def __init__(self, scale_bar: float) -> None:
        self.nodes: list[dict[str, Any]] = []
        self.links: list[dict[str, Any]] = []
        self.arrows: list[dict[str, Any]] = []
        self.trails: list[dict[str, Any]] = []
        self.views: list[dict[str, Any]] = []
        self.box: dict[str, Any] | None = None
        self.scale_bar = scale_bar

    def node(self, id: str, label: str, style: str, colour: str, *parts: Part) -> int:
        self.nodes.append({"id": id, "label": label, "style": style, "colour": colour, "parts": list(parts)})
        return len(self.nodes) - 1

    def link(self, id: str, ends: tuple[str, str], at: tuple[Vector, Vector], radius: float, style: str, colour: str) -> None:
        """Add a rod between points of two nodes."""
        self.links.append(
            _plain(
                {
                    "id": id,
                    "from": ends[0],
                    "to": ends[1],
                    "from_at": at[0],
                    "to_at": at[1],
                    "radius": radius,
                    "style": style,
                    "colour": colour,
                }
            )
        )

    def arrow(self, id: str, label: str, unit: str, scale: float, colour: str) -> int:
        self.arrows.append({"id": id, "label": label, "unit": unit, "scale": float(scale), "colour": colour})
        return len(self.arrows) - 1

    def trail(self, node: str, colour: str) -> None:
        self.trails.append({"node": node, "seconds": TRAIL, "colour": colour})

    def workspace(self, low: Vector, high: Vector, most: float) -> None:
        """Add the box, unless a side is longer than `most` [m]."""
        if max(b - a for a, b in zip(low, high, strict=True)) <= most:
            self.box = _plain({"min": low, "max": high, "label": "workspace"})

    def view(self, name: str, eye: Vector, target: Vector, span: float, up: Vector = Z, node: str | None = None) -> None:
        """Add a view from a point of the world, or of a node that carries the camera."""
        kind = "fixed" if node is None else "node"
        self.views.append(
            _plain({"name": name, "kind": kind, "node": node, "eye": eye, "target": target, "up": up, "span": span})
        )

    def look(self, name: str, target: Vector, direction: Vector, span: float, up: Vector = Z, node: str | None = None) -> None:
        """Add a view from a direction, far enough away to see the span."""
        along = np.array(direction, float)
        self.view(name, np.array(target) + 1.6 * span * along / np.linalg.norm(along), target, span, up, node)

    def describe(self) -> dict[str, Any]:
        return {
            "nodes": self.nodes,
            "links": self.links,
            "arrows": self.arrows,
            "trails": self.trails,
            "box": self.box,
            "views": self.views,
            "up": list(Z),
            "scale_bar": self.scale_bar,
        }
