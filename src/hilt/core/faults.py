"""Faults: codes inside the loop, sentences outside it.

A stage that finds a fault calls `trip`: the first fault wins and stays. Outside the loop, `read_fault` makes a sentence
of it: what happened, the value with its unit, what is allowed and what to do.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hilt.compiled import jit

NONE = 0
NOT_FINITE = 1
FORCE = 2
TORQUE = 3
SPEED = 4
ANGULAR_SPEED = 5
ACCELERATION = 6
WORKSPACE = 7
ENERGY = 8
DEVICE = 9
ROBOT_SILENT, ROBOT_LIMITED, ROBOT_NOT_SENDABLE, ROBOT_LINE = 10, 11, 12, 13
SENSOR_STALE, SENSOR_STATUS, SENSOR_SATURATED, SENSOR_FROZEN = 14, 15, 16, 17
LATENESS = 18  # value: how late the tick started [s]
RECORDER = 19
ANGULAR_ACCELERATION, JERK = 70, 71
ROBOT_OFF_TRACK = 72  # value: distance from its set-point [m]
ROBOT_TURNED = 73  # value: the same as an angle [rad]
ROBOT_OUTSIDE = 74  # value: measured position along the axis [m]
ROBOT_FAST, ROBOT_SPINS = 75, 76  # values: measured speed [m/s], measured angular speed [rad/s]
ROBOT_GAP = 51  # value: cycles missed within a second
ROBOT_RESTARTED, ROBOT_RIVAL = 54, 56
OTHER_ROBOT = 57  # of two robots: the one that is not the clock; value: its fault
ROBOT_EMERGENCY, ROBOT_PROTECTIVE, ROBOT_SAFEGUARD, ROBOT_SAFETY = 80, 81, 82, 83  # stopped by its own safety system
ROBOT_PROGRAM, ROBOT_WATCHDOG = 84, 85
JOINT_LIMIT = 90  # axis: the joint; value: angle at which a soft stop would end [rad]
JOINT_SPEED, JOINT_ACCELERATION = 91, 92  # axis: the joint; values in rad/s, rad/s²
SINGULARITY = 93  # value: smallest singular value of the Jacobian [m/rad]
JOINT_REACH = 94  # value: distance from the set-point to the best pose that the inverse kinematics finds [m]
OF_JOINTS = (JOINT_LIMIT, JOINT_SPEED, JOINT_ACCELERATION, SINGULARITY, JOINT_REACH)
SENSOR_GAP, SENSOR_JUMP = 53, 55
DEAD_MAN = 52  # value: time without a signal from the dead-man switch [s]
REQUESTED = 50  # a stop was requested
HEXA_REACH = 20  # value: rod length that the pose needs [m], limit: the actual rod length
HEXA_ANGLE = 21  # value: the angle of a crank [rad]
HEXA_RATE = 22  # value: its rate [rad/s]
HEXA_HOLD = 23  # value: remaining hold of the rods on the plate [%]
WRIST_FORCE = 31
ARM_JOINT = 30  # axis: the joint, counted through both arms; value: hand speed lost at the joint's limit [m/s]
FLYING_ARM_ERROR = 40  # value: distance of the flying arm's tool from its compliant pose [m]
HARDWARE_REACH = 42  # value: distance of the tool from the hardware arm's shoulder [m]
HARDWARE_ERROR = 43  # value: distance of its tool from the requested pose [m]
HARDWARE_TURN_ERROR = 44  # value: the same as an angle [rad]
FMU_STEP = 60  # axis: the status that the imported model returned
FMU_ENDED, FMU_ELSEWHERE = 61, 62


QUOTED = 80  # characters of the user's text in a sentence


class InputError(Exception):
    """Bad input: one sentence for the user, exit code 2, and the keys of the offending values, the worst first."""

    def __init__(self, sentence: str, key: str = "", *others: str) -> None:
        super().__init__(sentence)
        self.keys = tuple(each for each in (key, *others) if each)

    @property
    def key(self) -> str:
        return self.keys[0] if self.keys else ""


class Unfit(ValueError):
    """Raised by the checks of a scenario's sections: values that do not fit together, as a sentence with their keys."""

    def __init__(self, sentence: str, *keys: str) -> None:
        super().__init__(sentence)
        self.keys = keys


def shortened(text: str) -> str:
    """A text as quoted in a sentence: on one line and shortened."""
    flat = text if text.isprintable() else repr(text)[1:-1]
    return flat if len(flat) <= QUOTED else f"{flat[:QUOTED]}… ({len(text)} characters)"


@jit
def trip(sig, code, axis, value, limit):
    """Set the fault of this run, unless one is set already."""
    if sig.fault == NONE:
        sig.fault = code
        sig.fault_axis = axis
        sig.fault_value = value
        sig.fault_limit = limit


@dataclass(frozen=True)
class _Text:
    name: str
    what: str
    unit: str
    advice: str
    axes: Sequence[str] = "xyz"


_ROBOT_JOINTS = [f"joint {joint + 1}" for joint in range(7)]
_TEXTS = {
    NOT_FINITE: _Text("not-finite", "a signal is not a finite number", "", "look at the rows before the fault"),
    FORCE: _Text("force", "measured force", "N", "raise limits.force or make the contact softer"),
    TORQUE: _Text("torque", "measured torque", "N·m", "raise limits.torque or shorten the lever"),
    SPEED: _Text("speed", "commanded speed", "m/s", "raise limits.speed or keep the loop from generating energy"),
    ANGULAR_SPEED: _Text("angular-speed", "commanded angular speed", "rad/s", "raise limits.angular_speed"),
    ACCELERATION: _Text("acceleration", "commanded acceleration", "m/s²", "raise limits.acceleration or the simulated mass"),
    ANGULAR_ACCELERATION: _Text(
        "angular-acceleration",
        "commanded angular acceleration",
        "rad/s²",
        "raise limits.angular_acceleration or turn more gently",
    ),
    JERK: _Text("jerk", "commanded jerk", "m/s³", "raise limits.jerk or make the motion smoother"),
    WORKSPACE: _Text(
        "workspace", "commanded position", "m", "widen limits.workspace_min and limits.workspace_max or move less"
    ),
    ENERGY: _Text("energy", "kinetic energy of the body", "J", "raise limits.energy or keep the loop from generating energy"),
    HEXA_REACH: _Text(
        "table-reach",
        "rod length of the motion table for the commanded pose",
        "m",
        "move less or give the X-Y table more travel",
    ),
    HEXA_ANGLE: _Text("table-angle", "crank angle of the motion table", "rad", "move less or give the X-Y table more travel"),
    HEXA_RATE: _Text("table-rate", "crank rate of the motion table", "rad/s", "move more slowly"),
    HEXA_HOLD: _Text(
        "table-hold", "hold of the motion table's rods on its plate", "%", "tilt less: the rods would no longer hold the plate"
    ),
    WRIST_FORCE: _Text("wrist-force", "force at the wrist of the slave arm", "N", "raise limits.force or move more gently"),
    ARM_JOINT: _Text(
        "arm-joint",
        "hand speed lost at the limit of",
        "m/s",
        "start from another posture or move less",
        axes=[f"joint {joint + 1} of arm {arm + 1}" for arm in range(2) for joint in range(7)],
    ),
    HARDWARE_REACH: _Text(
        "hardware-reach", "distance of the tool from the hardware arm's shoulder", "m", "start closer or move less"
    ),
    HARDWARE_ERROR: _Text(
        "hardware-error", "distance of the hardware's tool from its compliant pose", "m", "move more slowly or start elsewhere"
    ),
    HARDWARE_TURN_ERROR: _Text(
        "hardware-turn-error", "angle of the hardware's tool from its compliant pose", "rad", "turn less or start elsewhere"
    ),
    FLYING_ARM_ERROR: _Text(
        "flying-arm-error",
        "distance of the flying arm's tool from its compliant pose",
        "m",
        "ask for a pose within reach, push less or raise arm_ik.max_error",
    ),
    FMU_STEP: _Text(
        "fmu-step",
        "the imported model (FMU) failed to make its step and returned the status",
        "",
        "look at its inputs in the rows before the fault, and try the model in its own tool",
        axes=("OK", "warning", "discard", "error", "fatal", "pending"),
    ),
    FMU_ENDED: _Text("fmu-ended", "the imported model (FMU) ended its simulation", "", "check in its own tool why it ends"),
    FMU_ELSEWHERE: _Text(
        "fmu-elsewhere", "the imported model (FMU) was stepped outside this run", "", "set up a bench for each run"
    ),
    ROBOT_SILENT: _Text("robot-silent", "the robot sent no packet for too long", "", "check its program and its cable"),
    ROBOT_GAP: _Text("robot-gap", "too many cycles of the robot were missed", "", "check the network and run hilt doctor"),
    ROBOT_RESTARTED: _Text(
        "robot-restarted",
        "the robot's program was restarted",
        "",
        "check where the robot is, and end this session if its corrections are absolute",
    ),
    ROBOT_OFF_TRACK: _Text(
        "robot-off-track",
        "distance of the robot from its set-point",
        "m",
        "find out what holds or moves it; if it only lags more than lab.tracking_delay allows, correct that",
    ),
    ROBOT_TURNED: _Text(
        "robot-turned-off",
        "angle of the robot from its set-point",
        "rad",
        "find out what holds or turns it; if it only lags more than lab.tracking_delay allows, correct that",
    ),
    ROBOT_OUTSIDE: _Text(
        "robot-outside",
        "measured position of the robot",
        "m",
        "find out what moves it, and drive it back with its own controls",
    ),
    ROBOT_FAST: _Text("robot-fast", "measured speed of the robot", "m/s", "find out what moves it, and check its own limits"),
    ROBOT_SPINS: _Text(
        "robot-spins", "measured angular speed of the robot", "rad/s", "find out what turns it, and check its own limits"
    ),
    OTHER_ROBOT: _Text(
        "other-robot",
        "the robot that is not the clock has stopped or fallen silent",
        "",
        "the notes of the run say why",
    ),
    ROBOT_RIVAL: _Text(
        "robot-rival",
        "a second sender claims to be the robot",
        "",
        "stop that sender, or set the robot's address and port in robot.peer, and connect again",
    ),
    ROBOT_EMERGENCY: _Text(
        "robot-emergency", "the robot is in an emergency stop", "", "release it where it was pressed, once it is safe"
    ),
    ROBOT_PROTECTIVE: _Text(
        "robot-protective",
        "the robot has stopped itself protectively",
        "",
        "see its panel for the reason, and unlock it there; push or accelerate it less",
    ),
    ROBOT_SAFEGUARD: _Text("robot-safeguard", "the robot's safeguard is open", "", "close it and reset it at the robot"),
    ROBOT_SAFETY: _Text(
        "robot-safety", "the robot's safety system reports a violation or a fault", "", "see its panel, and restart it there"
    ),
    ROBOT_PROGRAM: _Text(
        "robot-program", "the robot's program is not running", "", "see its panel for the reason, and connect again"
    ),
    ROBOT_WATCHDOG: _Text(
        "robot-watchdog",
        "the robot's program stopped the arm because no set-points arrived",
        "",
        "run hilt doctor to check this machine, and connect again",
    ),
    ROBOT_LIMITED: _Text(
        "robot-limited", "a set-point was further away than the robot may move in a cycle", "", "lower limits.speed"
    ),
    ROBOT_NOT_SENDABLE: _Text("robot-number", "a set-point was not a finite pose", "", "look at the rows before the fault"),
    ROBOT_LINE: _Text("robot-line", "an answer to the robot could not be sent", "", "check the network"),
    JOINT_LIMIT: _Text(
        "joint-limit",
        "stopping angle of",
        "rad",
        "start from another posture or move less",
        axes=_ROBOT_JOINTS,
    ),
    JOINT_SPEED: _Text("joint-speed", "speed of", "rad/s", "move more slowly, or avoid singular postures", _ROBOT_JOINTS),
    JOINT_ACCELERATION: _Text(
        "joint-acceleration", "acceleration of", "rad/s²", "move more gently, or raise joints.acceleration", _ROBOT_JOINTS
    ),
    SINGULARITY: _Text(
        "singularity",
        "smallest singular value of the robot's Jacobian",
        "m/rad",
        "start from another posture, or place the robot so that its path avoids singular postures",
    ),
    JOINT_REACH: _Text(
        "joint-reach", "distance of the set-point outside the robot's reach", "m", "place the robot closer, or move less"
    ),
    DEAD_MAN: _Text(
        "dead-man", "time without a signal from the dead-man switch", "s", "keep the switch pressed, or release it properly"
    ),
    SENSOR_STALE: _Text("sensor-stale", "the force sensor sent nothing new for too long", "", "check its cable and power"),
    SENSOR_STATUS: _Text("sensor-status", "the force sensor reports an error in its status word", "", "see its web page"),
    SENSOR_SATURATED: _Text("sensor-saturated", "the force sensor is saturated", "", "make the contact softer"),
    SENSOR_FROZEN: _Text("sensor-frozen", "the force sensor repeats the same counts", "", "restart it"),
    SENSOR_GAP: _Text("sensor-gap", "too many consecutive records of the force sensor are missing", "", "check the network"),
    SENSOR_JUMP: _Text(
        "sensor-jump",
        "the force sensor jumped more between two records than any contact can cause",
        "",
        "check whether something else has zeroed it, or raise sensor.jump_force and sensor.jump_torque",
    ),
    LATENESS: _Text("lateness", "lateness of a tick", "s", "run hilt doctor to check this machine"),
    RECORDER: _Text("recorder", "the recorder died or fell behind", "", "check the disk, or set lab.recorder = 'count'"),
    REQUESTED: _Text("requested", "a stop was requested", "", "arm it again when it is safe"),
    DEVICE: _Text("device", "a device reported an error", "", "check the device"),
}


@dataclass(frozen=True)
class Fault:
    """What ended a run, as the user reads it."""

    code: int
    name: str
    tick: int
    t: float
    axis: str
    value: float
    limit: float
    sentence: str

    def as_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def _text(code: int) -> _Text:
    """The texts of a fault; a recording may contain a code of another version, or an invalid one."""
    unknown = _Text("unknown", f"fault {code}, which this version does not know", "", "use the hilt that made it")
    return _TEXTS.get(code, unknown)


def explain(code: int) -> str:
    """What a fault means and what to do, without any values."""
    text = _text(code)
    return f"{text.what}; {text.advice}"


def read_fault(row: Any) -> Fault | None:
    """The fault in a row of the log, or None."""
    code = int(row["fault"])
    if code == NONE:
        return None
    text, number = _text(code), int(row["fault_axis"])
    axis = text.axes[number] if 0 <= number < len(text.axes) else ""
    value, limit, t = float(row["fault_value"]), float(row["fault_limit"]), float(row["t"])
    what = f"{text.what} {axis}".strip()
    if text.unit:
        sentence = (
            f"stopped at t = {t:.4g} s: {what} {value:.4g} {text.unit} is beyond its limit of {limit:.4g} {text.unit}; "
            f"{text.advice}"
        )
    else:
        sentence = f"stopped at t = {t:.4g} s: {what}; {text.advice}"
    return Fault(code, text.name, int(row["tick"]), t, axis, value, limit, sentence)
