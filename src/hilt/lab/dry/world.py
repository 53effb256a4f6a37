"""What the emulated sensor measures: the plant of the facility's system, with the emulated robot in place of its own.

Only the plant's stages that the measured wrench depends on are run, in the plant's order, except those that move the mock-up:
the true motion comes from the robot's process. The tick's commands stay as they were at the start, so the hand of `payload`
does not move. Time starts at hilt's first answer to the robot, for pushes.
"""

from typing import Any

import numpy as np

from hilt import job
from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.core.stage import Block, Blocks
from hilt.core.system import Bench, used
from hilt.device.drivers import NetFTRig, RsiRig
from hilt.device.placed import PlacedRobot, pose_of
from hilt.device.rigfile import Facility, RigFile
from hilt.device.rsi import frames

MOTION = ("X_WB_true", "V_WB_true")
MEASURED = "F_So_S"
ROBOTS = {"rsi": RsiRig}  # drivers with an emulator
SHORTEST = 1e-6  # [s] between two samples that catch up

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


def bench_of(rig: RigFile, settings: list[str]) -> tuple[Blocks, Bench]:
    """The facility's scenario at the sensor's own rate and with the sensor's own noise, and the blocks of its world."""
    facility = facility_of(rig)
    own = [("loop.period", 1.0 / facility.sensor_rate), ("sensor.noise", facility.sensor_noise), ("sensor.sample_age", 0.0)]
    system, values, _ = job.find(facility.system, facility.scenario, [*rig.settings(facility.system), *settings, *own])
    return used(system.plant, values), system.set_up(values)


def start_of(rig: RigFile, settings: list[str]) -> Any:
    """Pose of the mock-up in W at the start of the scenario."""
    _, bench = bench_of(rig, settings)
    X_WB = np.zeros(1, POSE)[0]
    X_WB["p"], X_WB["q"] = bench.row[0]["X_WB_cmd"]["p"], bench.row[0]["X_WB_cmd"]["q"]
    return X_WB


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
        self._dt = float(p["dt"])
        # Everything is compiled before the first sample.
        self.feel(sig["X_WB_cmd"], np.zeros(1, sig["V_WB_true"].dtype)[0], 0.0)
        self.begin()

    def begin(self) -> None:
        """As at the start of the scenario."""
        self._bench.row[...], self._bench.w[...] = self._first
        self._t = -self._dt

    def feel(self, X_WB: Any, V_WB: Any, t: float) -> tuple[Vector, Vector]:
        sig = self._sig
        dt = max(t - self._t, SHORTEST)
        self._t = t
        sig["t"] = t
        sig["X_WB_true"]["p"], sig["X_WB_true"]["q"] = X_WB["p"], X_WB["q"]
        sig["V_WB_true"]["v"], sig["V_WB_true"]["w"] = V_WB["v"], V_WB["w"]
        for step, x, p in self._steps:
            step(sig, x, p, dt)
        return three(sig[MEASURED]["f"]), three(sig[MEASURED]["tau"])
