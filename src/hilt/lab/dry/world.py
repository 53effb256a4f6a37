"""What an emulated sensor measures: the plant of the facility's system, with the emulated robots in place of its own.

Only the plant's stages that the measured wrench depends on are run, in the plant's order, except those that move what a robot
carries: the true motion comes from the robots' processes. The tick's commands stay as they were at the start, so fingers stay
open or closed. Time starts at hilt's first answer to the robot; timed pushes count from there.

After a stall of this process the world catches up in steps of a few samples: a robot that bends swings in the meantime.
"""

import math
from typing import Any

import numpy as np

from hilt import job
from hilt.core import diagram
from hilt.core.faults import InputError
from hilt.core.pairing import Joined, Pairing, Shared
from hilt.core.signals import POSE, TWIST
from hilt.core.stage import Block, Blocks
from hilt.core.system import Bench, System, used
from hilt.device import frames
from hilt.device.drivers import FciRig, NetFTRig, RsiRig, RtdeRig
from hilt.device.paired_rig import check_pairing
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rigfile import Facility, RigFile
from hilt.maths import pair, spatial

MOTION = ("X_WB_true", "V_WB_true")
MEASURED = "F_So_S"
ROBOTS = {"rsi": RsiRig, "rtde": RtdeRig, "fci": FciRig}  # drivers with an emulator
SHORTEST = 1e-6  # [s] between two samples
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
    """Return the robot's section; refuse a driver that has no emulator."""
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
    """Return the facility's system, and its scenario at the sensor's rate and with the sensor's noise."""
    facility = facility_of(rig)
    own = [("loop.period", 1.0 / facility.sensor_rate), ("sensor.noise", facility.sensor_noise), ("sensor.sample_age", 0.0)]
    system, values, _ = job.find(facility.system, facility.scenario, [*rig.settings(facility.system), *settings, *own])
    return system, values


def bench_of(rig: RigFile, settings: list[str]) -> tuple[Blocks, Bench]:
    """Return the blocks of the plant, and the bench of the facility's scenario."""
    system, values = _found(rig, settings)
    return used(system.plant, values), system.set_up(values)


def start_of(rig: RigFile, settings: list[str], name: str = "") -> Any:
    """Return the pose of the mock-up in W at the start of the scenario; with two robots, of what the named one carries."""
    system, values = _found(rig, settings)
    row, pairing = system.set_up(values).row[0], system.pairing(values) if name else None
    start = row[pairing.command] if isinstance(pairing, Joined) and name == pairing.meets else row["X_WB_cmd"]
    p, q = tuple(map(float, start["p"])), tuple(map(float, start["q"]))
    if isinstance(pairing, Shared):
        X_GB, X_GW = pair.shares((p, q), pairing.share)
        p, q = X_GB if name == pairing.moves else X_GW
    X_WB = np.zeros(1, POSE)[0]
    X_WB["p"], X_WB["q"] = p, q
    return X_WB


def pairing_of(rig: RigFile, settings: list[str]) -> Pairing | None:
    """Return the pairing of the facility's scenario, checked against the rig."""
    system, values = _found(rig, settings)
    pairing = system.pairing(values)
    check_pairing(rig, pairing, system.name)
    return pairing


class Opposite:
    """A sensor on the mock-up's side: it measures the opposite of the scenario's sensor."""

    def __init__(self, rig: RigFile, settings: list[str]) -> None:
        pairing = pairing_of(rig, settings)
        assert isinstance(pairing, Shared)
        self._X_WS, place = pairing.X_WS, rig.X_BS
        self._X_BS = tuple(place.p), tuple(place.q)

    def feels(self, wrench: tuple[Vector, Vector], X_WB: Any) -> tuple[Vector, Vector]:
        at = three(X_WB["p"]), tuple(map(float, X_WB["q"]))
        f, tau = pair.reaction(self._X_WS, spatial.compose(at, self._X_BS), *wrench)
        return three(f), three(tau)


def motion_name(facility: str, robot: str) -> str:
    """Return the name under which a robot's motion is published."""
    return f"{facility}-{robot}" if robot else facility


def tool_at(robot: PlacedRobot, X_WB: Any) -> Any:
    """Return the tool's pose in the robot's base for a pose of the mock-up."""
    X_RT = frames.identity()
    frames.to_robot(pose_of(robot.X_WR), X_WB, pose_of(robot.X_TB), X_RT)
    return X_RT


def needed(blocks: Blocks, signal: str, motion: tuple[str, ...] = MOTION) -> Blocks:
    """Return the blocks that a signal depends on, except those that move what the robots carry."""
    wanted, found = {signal}, list[Block]()
    for block in reversed(blocks):
        if wanted & set(block.kind.writes) and not set(motion) & set(block.kind.writes):
            wanted |= set(block.kind.reads)
            found.append(block)
    return tuple(found[::-1])


Motion = tuple[Any, Any]  # a POSE and a TWIST


class World:
    """The world of the sensor: `feel(t, X_WB, V_WB)` returns the wrench that it measures, including noise. With two robots that
    hold on to each other, the motion of the second is given as well, and `carrier` is the robot with this sensor."""

    def __init__(self, rig: RigFile, settings: list[str], pairing: Pairing | None = None, carrier: str = "") -> None:
        plant, self._bench = bench_of(rig, settings)
        self._first = self._bench.row.copy(), self._bench.w.copy()
        sig = self._bench.row[0]
        self._measured, self._others = MEASURED, ("", "")
        motion: tuple[str, ...] = MOTION
        if isinstance(pairing, Joined):
            self._measured, self._others = pairing.sensors[carrier], pairing.truth
            motion = (*MOTION, *pairing.truth)
        blocks = needed(plant, self._measured, motion)
        self._step = diagram.build(f"{facility_of(rig).system}-sensor", (), blocks, ()).plant
        self._sig, self._t = sig, 0.0
        self._last: list[tuple[Any, Any]] | None = None  # position and velocity of what each robot carries at the last sample
        self._period = self._bench.p["dt"]
        self._dt = float(self._period[0])
        # Everything is compiled before the first sample.
        start = [(sig["X_WB_cmd"], np.zeros(1, TWIST)[0])]
        if isinstance(pairing, Joined):
            start.append((sig[pairing.command], np.zeros(1, TWIST)[0]))
        self.feel(0.0, *start)
        self.begin()

    def begin(self) -> None:
        """Reset to the start of the scenario."""
        self._bench.row[...], self._bench.w[...] = self._first
        self._t, self._last = -self._dt, None

    def feel(self, t: float, *motions: Motion) -> tuple[Vector, Vector]:
        sig, bench, dt = self._sig, self._bench, max(t - self._t, SHORTEST)
        steps = min(math.ceil(dt / (LONGEST * self._dt)), MOST_STEPS) if self._last is not None else 1
        now = [(np.array(X["p"]), np.array(V["v"])) for X, V in motions]
        before, self._t, self._last = self._last or now, t, now
        for k, (X, V) in enumerate(motions):
            self._turn(k, X["q"], V["w"])
        for i in range(1, steps + 1):
            for k, (last, here) in enumerate(zip(before, now, strict=True)):
                self._move(k, *(here if i == steps else _between(*last, *here, dt, i / steps)))
            sig["t"] = t - (steps - i) / steps * dt
            self._period[0] = dt / steps
            self._step(bench.row, bench.w, bench.p)
        return three(sig[self._measured]["f"]), three(sig[self._measured]["tau"])

    def _move(self, k: int, p: Any, v: Any) -> None:
        sig, (pose, twist) = self._sig, self._others
        if k == 0:
            sig["X_WB_true"]["p"], sig["V_WB_true"]["v"] = p, v
        else:
            sig[pose][:3], sig[twist][:3] = p, v

    def _turn(self, k: int, q: Any, w: Any) -> None:
        sig, (pose, twist) = self._sig, self._others
        if k == 0:
            sig["X_WB_true"]["q"], sig["V_WB_true"]["w"] = q, w
        else:
            sig[pose][3:7], sig[twist][3:6] = q, w


def _between(p0: Any, v0: Any, p1: Any, v1: Any, dt: float, share: float) -> tuple[Any, Any]:
    """Return position and velocity on the cubic through both."""
    d = p1 - p0
    a, b = 3.0 * d - dt * (2.0 * v0 + v1), dt * (v0 + v1) - 2.0 * d
    return p0 + share * (dt * v0 + share * (a + share * b)), v0 + share * (2.0 * a + 3.0 * share * b) / dt
