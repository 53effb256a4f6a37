"""Poses, twists, wrenches and joints in a row: what viewers of ROS messages can draw without knowing hilt.

Most follow from a signal's kind and frame: `X_WB_meas` is the pose of frame `B_meas` in `W`. A system adds in `views.frames`
what the signal table does not contain: frames that are fixed to others, and poses and joints that are kept as plain numbers.

    def frames(scenario) -> Frames

The numbers of a wrench are expressed in its frame; the point at which it acts is in its name (`F_Bcm_W`: at Bcm, axes of W).
"""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hilt.core.signals import POSE, TABLE, TWIST, WRENCH, whole
from hilt.core.system import System

RATE = 50.0  # Hz, highest rate of standard messages: enough for the eye; rows are all kept
UPRIGHT = (1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Fixed:
    """A frame that does not move in another one."""

    frame: str
    child: str
    p: tuple[float, float, float] = (0.0, 0.0, 0.0)
    q: tuple[float, float, float, float] = UPRIGHT


@dataclass(frozen=True)
class Pose:
    """A frame that moves: columns of the row (`X_WB_meas.p`, or `x_s` of plain numbers); without `q` it does not turn."""

    name: str
    frame: str
    child: str
    p: str
    q: str = ""


@dataclass(frozen=True)
class Couple:
    """Two vectors: a twist (`first` velocity, `second` angular velocity), or a wrench (force, torque)."""

    name: str
    frame: str
    first: str
    second: str = ""


@dataclass(frozen=True)
class Joints:
    """Joint angles by the names of the joints: numbers of the column `q`, starting at `begin`."""

    names: tuple[str, ...]
    q: str
    begin: int = 0


@dataclass(frozen=True)
class Frames:
    """Frames and joints that a system adds."""

    fixed: tuple[Fixed, ...] = ()
    poses: tuple[Pose, ...] = ()
    twists: tuple[Couple, ...] = ()
    wrenches: tuple[Couple, ...] = ()
    joints: tuple[Joints, ...] = ()

    def __add__(self, other: "Frames") -> "Frames":
        return Frames(*(getattr(self, each.name) + getattr(other, each.name) for each in dataclasses.fields(self)))


@dataclass(frozen=True)
class Standard:
    """The standard messages written beside the rows, every `every` ticks."""

    every: int
    frames: Frames

    def as_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


def from_json(tree: dict[str, Any]) -> Standard:
    """Rebuild in another process what `as_json` described."""
    kinds = {"fixed": Fixed, "poses": Pose, "twists": Couple, "wrenches": Couple, "joints": Joints}
    found = {name: tuple(kind(**_plain(each)) for each in tree["frames"][name]) for name, kind in kinds.items()}
    return Standard(tree["every"], Frames(**found))


def _plain(tree: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in tree.items()}


def of(system: System, scenario: Any) -> Standard:
    """The standard messages of a run: from the signals that its blocks use, and those the system adds."""
    found = system.used_by(scenario)
    blocks = (*found.tick, *found.plant, *found.observe)
    used = {whole(name) for block in blocks for name in (*block.kind.reads, *block.kind.writes)}
    part = system.part("views.frames")
    added = Frames() if part is None else part.frames(scenario)
    return Standard(every_of(scenario.loop.period), typed(name for name in system.row.names or () if name in used) + added)


def every_of(period: float) -> int:
    """Ticks from one standard message to the next: the fewest that keep within the rate."""
    return max(1, int(np.ceil(1.0 / (RATE * period) - 1e-9)))


def typed(names: Iterable[str]) -> Frames:
    """Poses, twists and wrenches among these signals, from the signal table."""
    signals = [TABLE[name] for name in names]
    return Frames(
        poses=tuple(
            Pose(s.name, s.frame, s.name.removeprefix(f"X_{s.frame}"), f"{s.name}.p", f"{s.name}.q")
            for s in signals
            if s.kind == POSE and s.name.startswith(f"X_{s.frame}")
        ),
        twists=tuple(Couple(s.name, s.frame, f"{s.name}.v", f"{s.name}.w") for s in signals if s.kind == TWIST),
        wrenches=tuple(Couple(s.name, s.frame, f"{s.name}.f", f"{s.name}.tau") for s in signals if s.kind == WRENCH),
    )
