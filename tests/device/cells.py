"""Every robot driver with its emulated robot, opened as a rig file opens them, with the limits and the patience of the shipped
rigs. What tests/device/test_robots.py says holds for all of them: a new driver is tested by being listed here."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np

from hilt.core import clock, faults, registry, scenario
from hilt.core.signals import POSE, TWIST
from hilt.device import frames
from hilt.device.joints.space import JointSpace
from hilt.device.placed import pose_of
from hilt.device.rigfile import SHIPPED, load
from hilt.device.rsi import codec as rsi
from hilt.device.rtde import settings as rtde
from hilt.lab.dry.robot import KINDS
from hilt.maths import so3
from tests.device.jointed import ARMS

UR5E = {"command": "joints", "joints": {**ARMS["ur5e"], "acceleration": 80.0}}
OF_POSES = dict.fromkeys(("acceleration", "jerk"))  # removed from a table
CELLS: dict[str, tuple[str, dict[str, Any]]] = {  # shipped rig, and what differs from its [robot]
    "rsi": ("lab-template", {}),
    "rsi-absolute": ("lab-template", {"correction": "absolute", "cycle": 0.012}),
    "rsi-joints": ("lab-template", {**UR5E, "cycle": 0.012}),
    "rsi-absolute-joints": ("lab-template", {**UR5E, "correction": "absolute", "step_limit": 0.0005}),
    "rtde": ("lab-template-ur", {}),
    "rtde-joints": ("lab-template-ur", {**UR5E, "cycle": 0.008}),
    "fci": ("lab-template-franka", {}),
    "fci-joints": ("lab-template-franka", {**OF_POSES, "command": "joints", "joints": ARMS["panda"]}),
}
JOINTED = [name for name, (_, keys) in CELLS.items() if "joints" in keys]
PLACED = {  # base and tool turned and moved, so that no axis of one frame is that of another
    "X_WR": {"p": [0.5, -0.25, 0.1], "q": [0.5, 0.5, 0.5, 0.5]},
    "X_TB": {"p": [0.0, 0.0, 0.2], "q": [0.0, 1.0, 0.0, 0.0]},
}
START = (0.4, 0.1, 0.5)
FACILITY = {"dead_time": 0.008, "natural_frequency": 150.0, "late_limit": 20}  # of the dry lab; a Franka stops after 20 itself
Vector = tuple[float, float, float]
NOWHERE = (0.0, 0.0, 0.0)
RAMPS = 0.2  # [s] in which a speed is reached
HUNG = 120.0  # [s] of this machine's time: a program that is not done by then never is


def section(name: str, **changes: Any) -> Any:
    """The robot's table of a rig file on this machine; a key is removed by None."""
    rig, keys = CELLS[name]
    table = load(SHIPPED / f"{rig}.toml", drivers=False).robot
    table = {**table, **PLACED, **keys, **KINDS[table["driver"]].loopback(), **changes}
    table = {key: value for key, value in table.items() if value is not None}
    return scenario.build(registry.load("robots", table["driver"]), table)


def cycles(name: str) -> tuple[float, ...]:
    """The cycles that a robot may have [s]."""
    return {"rsi": rsi.CYCLES, "rtde": rtde.CYCLES}.get(name.partition("-")[0], (section(name).cycle,))


def patient(name: str) -> dict[str, Any]:
    """Keys of a robot on a machine that may stall for as long as it likes."""
    return {"patience": 10_000, **({"watchdog": 10_000} if name.startswith("rtde") else {})}


def start_of(given: Any) -> dict[str, Any]:
    """Where the robot begins: at its posture, if it takes angles."""
    if given.joints is None:
        return {"start_p": START}
    X = np.zeros(1, POSE)[0]
    JointSpace(given.joints).pose(given.joints.posture, X)
    return {"start_p": tuple(map(float, X["p"])), "start_q": tuple(map(float, X["q"])), "joints": given.joints}


class Cell:
    """A robot and its driver, if they have met, with a set-point that is wherever the robot's is."""

    def __init__(self, given: Any, arm: Any, driver: Any = None) -> None:
        self.section, self.arm, self.driver, self.cycle = given, arm, driver, given.cycle
        self.X, self.V = np.zeros(1, POSE)[0], np.zeros(1, TWIST)[0]
        self.goal = self.sent() if driver is not None else None

    def sent(self) -> Any:
        """The set-point, as the driver has it."""
        pose = np.zeros(1, POSE)[0]
        self.driver.sent(pose)
        return pose

    def there(self, X_RT: Any = None) -> Any:
        """The set-point, as the robot has it, or another pose of its tool."""
        out = frames.identity()
        tool = self.arm._set if X_RT is None else X_RT
        frames.to_world(pose_of(self.section.X_WR), tool, pose_of(self.section.X_TB), out)
        return out

    def wait(self) -> Any:
        """The robot's next packet. What the robot did not execute is taken back, as a rig does."""
        reply = self.driver.wait(self.X, self.V)
        if reply.code != faults.NONE or not reply.heard:
            self.goal = self.sent()
        return reply

    def tick(self, step: Any = NOWHERE, turn: Any = NOWHERE) -> tuple[int, int]:
        """One cycle; codes of the packet and of the answer."""
        code = self.wait().code
        self.goal["p"] += step
        self.goal["q"] = so3.multiply(so3.exp(tuple(turn)), tuple(self.goal["q"].tolist()))
        return code, self.driver.send(self.goal)

    def hold(self) -> int:
        code: int = self.wait().code
        self.driver.hold()
        return code

    def soon(self, condition: Callable[[], Any], seconds: float = 1.0) -> Any:
        """Go on until something is true."""
        end = clock.now() + seconds
        while not (found := condition()):
            assert clock.now() < end, "not true in time"
        return found

    def follow(self) -> None:
        """Until the robot takes set-points."""
        self.soon(lambda: self.wait().heard & (self.driver.send(self.goal) == 0) and self.arm.state == "running")
        self.move(cycles=5)

    def move(self, distance: Vector = NOWHERE, turn: Vector = NOWHERE, cycles: int = 0) -> None:
        """Move by a distance and turn by an angle, gently at both ends; every packet is answered."""
        before = 0.0
        for k in range(cycles):
            s = (k + 1) / cycles
            share = s * s * s * (10.0 - 15.0 * s + 6.0 * s * s)
            codes = self.tick(np.multiply(share - before, distance), np.multiply(share - before, turn))
            assert codes == (0, 0), [faults.explain(code) for code in codes]
            before = share

    def run(self, speed: Vector, seconds: float) -> None:
        """Reach a speed, gently, and keep it."""
        for k in range(1, round(seconds / self.cycle) + 1):
            share = min(k * self.cycle / RAMPS, 1.0)
            codes = self.tick(np.multiply(share * share * (3.0 - 2.0 * share) * self.cycle, speed))
            assert codes == (0, 0), [faults.explain(code) for code in codes]

    def apart(self, one: Any, other: Any) -> tuple[float, float]:
        """Distance [m] and angle [rad] between two poses."""
        turn = so3.between(tuple(one["q"].tolist()), tuple(other["q"].tolist()))
        return float(np.linalg.norm(one["p"] - other["p"])), float(np.linalg.norm(turn))

    def settle(self) -> None:
        """Until the robot is at rest."""
        self.move(cycles=round(0.3 / self.cycle))

    def carried(self) -> Any:
        """The robot's program is ended, and the robot moved elsewhere; where it then stands."""
        self.arm._halt("somebody stopped it")
        clock.pause(0.1)  # the cycle in which it was stopped is over
        self.arm._set["p"] += (0.02, 0.01, -0.01)
        self.arm._response.settle(clock.now())
        self.arm._response.command(self.arm._set, clock.now(), clock.now() + 0.05)
        end = clock.now() + 0.5
        while clock.now() < end:
            self.hold()
        return self.there()

    def answers(self) -> int:
        """How many answers the robot has had, whether it used them or not."""
        return len(self.arm.diary) + int(self.arm.refused)

    def count(self, *names: str) -> int:
        found = self.driver.counters()
        return sum(found.get(name, 0) for name in names)


@contextmanager
def robot(name: str, arm: dict[str, Any] | None = None, own: Any = None, **changes: Any) -> Iterator[Cell]:
    """An emulated robot alone, which is not contacted; `arm` has settings of it, and `own` joints that differ from hilt's."""
    given = section(name, **changes)
    limits = {"step_limit": 1.001 * given.step_limit, "turn_limit": 1.001 * given.turn_limit}  # angles are rounded
    settings = {"cycle": given.cycle, **limits, **FACILITY, **start_of(given), **(arm or {})}
    with ExitStack() as stack:
        made = KINDS[given.driver].make(given, settings if own is None else {**settings, "joints": own})
        made.attend(f"test-{os.getpid()}-{name}", None)
        made.automatic = False  # it restarts only on request
        made._keep_diary = lambda: None  # its log is read here
        stack.enter_context(made)
        made.live = True
        yield Cell(given, made)


@contextmanager
def cell(name: str, arm: dict[str, Any] | None = None, own: Any = None, **changes: Any) -> Iterator[Cell]:
    """A driver that has met its robot."""
    with robot(name, arm, own, **changes) as alone:
        driver = alone.section.connect()
        try:
            yield Cell(alone.section, alone.arm, driver)
        finally:
            driver.close()
