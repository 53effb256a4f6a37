"""What the emulated sensor measures: the plant of the facility's system, with the emulated robot in place of its own.

Only the plant's stages that the measured wrench depends on are run, in the plant's order, except those that move the mock-up:
the true motion comes from the robot's process. The tick's commands stay as they were at the start, so the hand of `payload`
does not move. Time starts at hilt's first answer to the robot, for pushes.

After a stall of this process the world catches up in steps of a few samples: a robot that bends swings in the meantime.
"""

import math
from typing import Any

import numpy as np

from hilt import job
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.core.stage import Block, Blocks
from hilt.core.system import Bench, System, used
from hilt.device.drivers import FciRig, NetFTRig, RsiRig, RtdeRig
from hilt.device.paired_rig import check_pairing
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rigfile import Facility, RigFile
from hilt.device.rsi import frames
from hilt.maths import pair, spatial

MOTION = ("X_WB_true", "V_WB_true")
MEASURED = "F_So_S"
ROBOTS = {"rsi": RsiRig, "rtde": RtdeRig, "fci": FciRig}  # drivers with an emulator
SHORTEST = 1e-6  # [s] between two samples that catch up
LONGEST = 4.0  # samples in one step
MOST_STEPS = 1000  # after a stall

Vector = tuple[float, float, float]


def three(parts: Any) -> Vector:
    x, y, z = (float(part) for part in parts)
    return x, y, z


def facility_of(rig: RigFile) -> Facility:
    if rig.facility is None:
        raise InputError("the rig file has no [facility], which describes the emulated robot and sensor; add it")
    return rig.facility


def robot_of(rig: RigFile) -> Any:
    """The robot's section, of a driver whose robot can be emulated."""
    section = rig.robot_section
    if not isinstance(section, tuple(ROBOTS.values())):
        known = " or ".join(repr(name) for name in ROBOTS)
        raise InputError(
            f"robot.driver is {rig.robot['driver']!r}, for which there is no emulator; it must be {known}; change it"
        )
    return section


def netft_of(rig: RigFile) -> NetFTRig:
    section = rig.sensor_section
    if not isinstance(section, NetFTRig):
        raise InputError(
            f"sensor.driver is {rig.sensor['driver']!r}, for which there is no emulator; it must be 'netft'; change it"
        )
    return section


def _found(rig: RigFile, settings: list[str]) -> tuple[System, Any]:
    """The facility's system, and its scenario at the sensor's own rate and with the sensor's own noise."""
    facility = facility_of(rig)
    own = [("loop.period", 1.0 / facility.sensor_rate), ("sensor.noise", facility.sensor_noise), ("sensor.sample_age", 0.0)]
    system, values, _ = job.find(facility.system, facility.scenario, [*rig.settings(facility.system), *settings, *own])
    return system, values


def bench_of(rig: RigFile, settings: list[str]) -> tuple[Blocks, Bench]:
    """The facility's scenario, and the blocks of its world."""
    system, values = _found(rig, settings)
    return used(system.plant, values), system.set_up(values)


def start_of(rig: RigFile, settings: list[str], name: str = "") -> Any:
    """Pose of the mock-up in W at the start of the scenario; with two robots, of what the named one carries."""
    system, values = _found(rig, settings)
    start, pairing = system.set_up(values).row[0]["X_WB_cmd"], system.pairing(values)
    p, q = tuple(map(float, start["p"])), tuple(map(float, start["q"]))
    if name and pairing is not None:
        X_GB, X_GW = pair.shares((p, q), pairing.share)
        p, q = X_GB if name == pairing.moves else X_GW
    X_WB = np.zeros(1, POSE)[0]
    X_WB["p"], X_WB["q"] = p, q
    return X_WB


def roles(rig: RigFile, settings: list[str]) -> tuple[str, str]:
    """Names of the robots that carry the mock-up and what it meets; empty with one robot."""
    system, values = _found(rig, settings)
    pairing = system.pairing(values)
    check_pairing(rig, pairing, system.name)
    return (pairing.moves, pairing.meets) if pairing is not None else ("", "")


class Opposite:
    """A sensor on the side of the mock-up: it feels what the scenario's sensor does, but from the other side."""

    def __init__(self, rig: RigFile, settings: list[str]) -> None:
        system, values = _found(rig, settings)
        pairing = system.pairing(values)
        assert pairing is not None
        self._X_WS, place = pairing.X_WS, rig.X_BS
        self._X_BS = tuple(place.p), tuple(place.q)

    def feels(self, wrench: tuple[Vector, Vector], X_WB: Any) -> tuple[Vector, Vector]:
        at = three(X_WB["p"]), tuple(map(float, X_WB["q"]))
        f, tau = pair.reaction(self._X_WS, spatial.compose(at, self._X_BS), *wrench)
        return three(f), three(tau)


def motion_name(facility: str, robot: str) -> str:
    """Under which a robot's motion is published."""
    return f"{facility}-{robot}" if robot else facility


def tool_at(robot: PlacedRobot, X_WB: Any) -> Any:
    """Pose of the robot's tool then, in its base."""
    X_RT = frames.identity()
    frames.to_robot(pose_of(robot.X_WR), X_WB, pose_of(robot.X_TB), X_RT)
    return X_RT


def needed(blocks: Blocks, signal: str) -> Blocks:
    """The blocks that a signal depends on, except those that move the mock-up."""
    wanted, found = {signal}, list[Block]()
    for block in reversed(blocks):
        if wanted & set(block.kind.writes) and not set(MOTION) & set(block.kind.writes):
            wanted |= set(block.kind.reads)
            found.append(block)
    return tuple(found[::-1])


class World:
    """`feel(X_WB, V_WB, t)` is the wrench that the sensor measures, including noise."""

    def __init__(self, rig: RigFile, settings: list[str]) -> None:
        plant, self._bench = bench_of(rig, settings)
        self._first = self._bench.row.copy(), self._bench.w.copy()
        sig, w, p = self._bench.row[0], self._bench.w[0], self._bench.p[0]
        self._steps = [(block.kind.step, w[block.name], p[block.name]) for block in needed(plant, MEASURED)]
        self._sig, self._t = sig, 0.0
        self._last: tuple[Any, Any] | None = None  # position and velocity of the mock-up at the last sample
        self._dt = float(p["dt"])
        # Everything is compiled before the first sample.
        self.feel(sig["X_WB_cmd"], np.zeros(1, sig["V_WB_true"].dtype)[0], 0.0)
        self.begin()

    def begin(self) -> None:
        """As at the start of the scenario."""
        self._bench.row[...], self._bench.w[...] = self._first
        self._t, self._last = -self._dt, None

    def feel(self, X_WB: Any, V_WB: Any, t: float) -> tuple[Vector, Vector]:
        sig, dt = self._sig, max(t - self._t, SHORTEST)
        steps = min(math.ceil(dt / (LONGEST * self._dt)), MOST_STEPS) if self._last is not None else 1
        p0, v0 = self._last if self._last is not None else (X_WB["p"], V_WB["v"])
        p1, v1 = np.array(X_WB["p"]), np.array(V_WB["v"])
        self._t, self._last = t, (p1, v1)
        sig["X_WB_true"]["q"], sig["V_WB_true"]["w"] = X_WB["q"], V_WB["w"]
        for i in range(1, steps + 1):
            place, rate = (p1, v1) if i == steps else _between(p0, v0, p1, v1, dt, i / steps)
            sig["t"], sig["X_WB_true"]["p"], sig["V_WB_true"]["v"] = t - (steps - i) / steps * dt, place, rate
            for step, x, p in self._steps:
                step(sig, x, p, dt / steps)
        return three(sig[MEASURED]["f"]), three(sig[MEASURED]["tau"])


def _between(p0: Any, v0: Any, p1: Any, v1: Any, dt: float, share: float) -> tuple[Any, Any]:
    """Position and velocity on the cubic through both."""
    way = p1 - p0
    a, b = 3.0 * way - dt * (2.0 * v0 + v1), dt * (v0 + v1) - 2.0 * way
    return p0 + share * (dt * v0 + share * (a + share * b)), v0 + share * (2.0 * a + 3.0 * share * b) / dt
