"""The shipped rigs of one robot, with robot and sensor emulated in this process."""

from contextlib import contextmanager

from hilt.device import rigfile
from hilt.device.arm import ArmSettings
from hilt.device.fci.emulator import FciController
from hilt.device.netft.codec import Calibration
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rsi.emulator import ControllerSettings, RsiController
from hilt.device.rtde.emulator import UrController
from hilt.lab.dry.robot import arm_settings, kind_of

RIGS = ["dry-lab", "dry-lab-ur", "dry-lab-franka"]
MAKE = {
    "rsi": lambda section, arm: RsiController("127.0.0.1", section.port, ControllerSettings(**arm)),
    "rtde": lambda section, arm: UrController(section.address, section.port, section.script_port, ArmSettings(**arm)),
    "fci": lambda section, arm: FciController(section.address, section.port, ArmSettings(**arm)),
}


def shipped(name, **changes):
    """A shipped rig file with changed keys of its sections."""
    file = rigfile.load(rigfile.find(name))
    for key, table in changes.items():
        section = getattr(file, key)
        changes[key] = {**section, **table} if isinstance(section, dict) else section.model_copy(update=table)
    return file.model_copy(update=changes)


@contextmanager
def emulated(file, wrench=lambda robot: ((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)), **arm):
    """The rig file with free ports, the robot, which is live, and the box, which measures `wrench(robot)`."""
    file = file.model_copy(update={"robot": {**file.robot, **kind_of(file).loopback()}})
    section = file.sensor_section
    calibration = Calibration(section.counts_per_force, section.counts_per_torque)
    robot = MAKE[file.robot["driver"]](file.robot_section, {**arm_settings(file, [], ""), **arm})
    with robot, NetFTBox(lambda: wrench(robot), calibration, dialect=section.dialect) as box:
        robot.live = True
        yield file.model_copy(update={"sensor": {**file.sensor, "port": box.port}}), robot, box


def went(robot):
    """Metres along x from the robot's start, from its own log."""
    return robot.diary[-1].pose[0] - robot.settings.start_p[0]


def soft(robot):
    return (robot.violations, robot.hard_stops) == ([], 0)
