"""The emulated robot's process: a controller of the kind that the rig file names, with an operator (operated.py)."""

import itertools
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.device import frames, peer
from hilt.device.arm import ArmSettings
from hilt.device.drivers import FciRig, RsiRig, RtdeRig
from hilt.device.fci.emulator import FciController
from hilt.device.placed import pose_of
from hilt.device.rigfile import RigFile
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.device.rsi.response import KNOTS
from hilt.device.rtde.emulator import UrController
from hilt.host import machine
from hilt.lab.dry import child, world
from hilt.lab.dry.operated import SWITCHES, Operated

MARGIN = 0.1  # [m] by which the robot's own workspace exceeds the rig's


class Kind(NamedTuple):
    """What distinguishes the emulated robot of one driver."""

    make: Callable[[Any, dict[str, Any]], Operated]  # from the section of the rig file and the settings of an arm
    switches: child.Switches
    said: Callable[[Any], str]  # where it is, in words
    loopback: Callable[[], dict[str, Any]]  # keys of its section on free ports of this machine


def free_port(kind: int = socket.SOCK_DGRAM) -> int:
    with machine.socket(socket.AF_INET, kind) as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


class OperatedRsi(Operated, RsiController):
    """A KUKA controller with its operator."""


def _rsi(section: RsiRig, arm: dict[str, Any]) -> Operated:
    address = "127.0.0.1" if section.address in ("0.0.0.0", "") else section.address
    settings = ControllerSettings(correction=section.correction, **arm)
    try:
        return OperatedRsi(address, section.port, settings, peer.parse(section.peer) if section.peer else ("", 0))
    except OSError as error:
        raise InputError(
            f"the robot cannot be emulated at {section.peer}: {error.strerror}; "
            "set robot.peer to an address of this machine, with no port or a free one"
        ) from None


RSI = Kind(
    make=_rsi,
    switches={**SWITCHES, "wrong_ipoc": (child.boolean, False)},
    said=lambda section: f"the robot sends to port {section.port} every {1e3 * section.cycle:g} ms",
    loopback=lambda: {"address": "127.0.0.1", "port": free_port(), "peer": "127.0.0.1"},
)


class OperatedUr(Operated, UrController):
    """A Universal Robots controller with its operator."""


def _rtde(section: RtdeRig, arm: dict[str, Any]) -> Operated:
    try:
        return OperatedUr(section.address, section.port, section.script_port, ArmSettings(**arm))
    except OSError as error:
        raise InputError(
            f"the robot cannot be emulated at {section.address}:{section.port} and {section.script_port}: {error.strerror}; "
            "end the other program, or change robot.port and robot.script_port"
        ) from None


RTDE = Kind(
    make=_rtde,
    switches={**SWITCHES, **dict.fromkeys(("protective", "emergency", "safeguard", "violation"), (child.boolean, False))},
    said=lambda section: f"the robot is at {section.address}:{section.port} and sends every {1e3 * section.cycle:g} ms",
    loopback=lambda: {
        "address": "127.0.0.1",
        "port": free_port(socket.SOCK_STREAM),
        "script_port": free_port(socket.SOCK_STREAM),
    },
)


class OperatedFranka(Operated, FciController):
    """A Franka robot with its operator."""


def _fci(section: FciRig, arm: dict[str, Any]) -> Operated:
    try:
        return OperatedFranka(section.address, section.port, ArmSettings(**arm))
    except OSError as error:
        raise InputError(
            f"the robot cannot be emulated at {section.address}:{section.port}: {error.strerror}; "
            "end the other program, or change robot.port"
        ) from None


FCI = Kind(
    make=_fci,
    switches={**SWITCHES, **dict.fromkeys(("user_stop", "guiding"), (child.boolean, False))},
    said=lambda section: f"the robot is at {section.address}:{section.port} and sends every {1e3 * section.cycle:g} ms",
    loopback=lambda: {"address": "127.0.0.1", "port": free_port(socket.SOCK_STREAM)},
)
KINDS = {"rsi": RSI, "rtde": RTDE, "fci": FCI}


def kind_of(rig: RigFile) -> Kind:
    world.robot_of(rig)
    return KINDS[rig.robot["driver"]]


def check(rig: RigFile) -> None:
    """Check that the rig can be emulated; an InputError says why not."""
    facility, robot, _ = world.facility_of(rig), world.robot_of(rig), world.netft_of(rig)
    longest = (KNOTS // 2 - 2) * robot.cycle
    if facility.dead_time > longest:
        raise InputError(f"facility.dead_time is {facility.dead_time:g} s; it must be at most {longest:g} s; shorten it")


def arm_settings(rig: RigFile, settings: list[str], name: str) -> dict[str, Any]:
    """Return the settings that every kind of emulated robot has (device/arm.py), from the rig file; `name` is of two robots."""
    facility, robot = world.facility_of(rig), world.robot_of(rig)
    start = world.tool_at(robot, world.start_of(rig, settings, name))
    low, high = np.array(rig.limits.workspace_min), np.array(rig.limits.workspace_max)
    corners = []
    for corner in itertools.product(*zip(low, high, strict=True)):
        X_WB = frames.identity()
        frames.to_world(pose_of(robot.X_WR), start, pose_of(robot.X_TB), X_WB)
        X_WB["p"] = corner
        corners.append(world.tool_at(robot, X_WB)["p"].copy())
    least, most = np.min([*corners, start["p"]], axis=0) - MARGIN, np.max([*corners, start["p"]], axis=0) + MARGIN
    return {
        "cycle": robot.cycle,
        "jitter": facility.robot_jitter,
        "drift": facility.clock_drift,
        "makes_up": facility.makes_up,
        "start_p": world.three(start["p"]),
        "start_q": tuple(float(part) for part in start["q"]),
        "dead_time": facility.dead_time,
        "natural_frequency": facility.natural_frequency,
        "damping_ratio": facility.damping_ratio,
        "step_limit": robot.step_limit,
        "turn_limit": robot.turn_limit,
        "workspace": (world.three(least), world.three(most)),
        "acceleration_limit": facility.acceleration_limit,
        "late_limit": facility.late_limit,
        "joints": getattr(robot, "joints", None),
    }


@contextmanager
def run(config: dict[str, Any]) -> Iterator[Callable[[str], dict[str, Any]]]:
    whole: RigFile = scenario.build(RigFile, config["rig"])  # type: ignore[type-var]
    name = config.get("robot", "")
    rig = whole.of(name) if name else whole
    kind = kind_of(rig)
    diary = Path(config["diary"]) if config["diary"] else None
    with ExitStack() as stack:
        robot = kind.make(world.robot_of(rig), arm_settings(rig, config["settings"], name))
        robot.attend(world.motion_name(config["name"], name), diary)
        robot.live = bool(config["live"])
        machine.own("robot", lambda: robot)
        stack.enter_context(robot)
        actions = {"status": robot.status, "restart": robot.start_again, "forget": robot.forget}
        yield lambda line: child.obey(line, robot, kind.switches, actions)


def main() -> None:
    child.live(run)


if __name__ == "__main__":
    main()
