"""The bytes of the Franka Control Interface, version 10, little-endian, and nothing else: no socket, no clock, no exception.

    TCP   4 bytes command, 4 bytes number, 4 bytes size (with this header), payload        requests and their replies
    UDP   state, 1377 bytes, from the robot every millisecond; command, 371 bytes, with the number of the state it answers

Poses are homogeneous matrices, column by column: float32 in a state, float64 in a command. A command has a pose or angles of
the joints, depending on the motion that was requested. Code that runs in every cycle is compiled and works in preallocated
buffers.
"""

import math
import struct
from typing import Any, NamedTuple

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import POSE, record
from hilt.maths import so3, vec

PORT, VERSION, CYCLE = 1337, 10, 0.001
HEADER = struct.Struct("<III")
SIZE_MAX = 1 << 20  # bytes of a TCP message: a robot's description is the longest

# Commands over TCP, and the status in their replies.
CONNECT, MOVE, STOP_MOVE, SET_COLLISION_BEHAVIOR, AUTOMATIC_ERROR_RECOVERY, GET_ROBOT_MODEL = 0, 1, 2, 3, 10, 11
SUCCESS, MOTION_STARTED, PREEMPTED, NOT_POSSIBLE, INVALID, REFLEX_ABORTED, EMERGENCY_ABORTED = 0, 1, 2, 5, 7, 8, 9  # of a Move
INCOMPATIBLE = 1  # of a Connect
JOINT_IMPEDANCE, CARTESIAN_IMPEDANCE = 0, 1  # controllers, in a Move and in a state
JOINT_POSITION, CARTESIAN_POSITION = 0, 2  # motion generators, in a Move

# Of a state.
IDLE_GENERATOR, JOINT_GENERATOR, CARTESIAN_GENERATOR = 0, 1, 3
JOINTS = 7
OTHER_CONTROLLER = 3
OTHER, IDLE, MOVING, GUIDING, REFLEX, USER_STOPPED, RECOVERING = range(7)
ERRORS = (
    "joint_position_limits_violation",
    "cartesian_position_limits_violation",
    "self_collision_avoidance_violation",
    "joint_velocity_violation",
    "cartesian_velocity_violation",
    "force_control_safety_violation",
    "joint_reflex",
    "cartesian_reflex",
    "max_goal_pose_deviation_violation",
    "max_path_pose_deviation_violation",
    "cartesian_velocity_profile_safety_violation",
    "joint_position_motion_generator_start_pose_invalid",
    "joint_motion_generator_position_limits_violation",
    "joint_motion_generator_velocity_limits_violation",
    "joint_motion_generator_velocity_discontinuity",
    "joint_motion_generator_acceleration_discontinuity",
    "cartesian_position_motion_generator_start_pose_invalid",
    "cartesian_motion_generator_elbow_limit_violation",
    "cartesian_motion_generator_velocity_limits_violation",
    "cartesian_motion_generator_velocity_discontinuity",
    "cartesian_motion_generator_acceleration_discontinuity",
    "cartesian_motion_generator_elbow_sign_inconsistent",
    "cartesian_motion_generator_start_elbow_invalid",
    "force_controller_desired_force_tolerance_violation",
    "start_elbow_sign_inconsistent",
    "communication_constraints_violation",
    "power_limit_violation",
    "cartesian_motion_generator_joint_position_limits_violation",
    "cartesian_motion_generator_joint_velocity_limits_violation",
    "cartesian_motion_generator_joint_velocity_discontinuity",
    "cartesian_motion_generator_joint_acceleration_discontinuity",
    "cartesian_position_motion_generator_invalid_frame_flag",
    "controller_torque_discontinuity",
    "joint_p2p_insufficient_torque_for_planning",
    "tau_J_range_violation",
    "instability_detected",
    "joint_move_in_wrong_direction",
    "cartesian_spline_motion_generator_violation",
    "joint_via_motion_generator_planning_joint_limit_violation",
    "base_acceleration_initialization_timeout",
    "base_acceleration_invalid_reading",
)

_NUMBERS = (
    *(("O_T_EE", 16), ("O_T_EE_d", 16), ("F_T_EE", 16), ("EE_T_K", 16), ("F_T_NE", 16), ("NE_T_EE", 16)),
    *(("m_ee", 1), ("I_ee", 9), ("F_x_Cee", 3), ("m_load", 1), ("I_load", 9), ("F_x_Cload", 3)),
    *(("elbow", 2), ("elbow_d", 2), ("tau_J", 7), ("tau_J_d", 7), ("dtau_J", 7)),
    *(("q", 7), ("q_d", 7), ("dq", 7), ("dq_d", 7), ("ddq_d", 7)),
    *(("joint_contact", 7), ("cartesian_contact", 6), ("joint_collision", 7), ("cartesian_collision", 6)),
    *(("tau_ext_hat_filtered", 7), ("O_F_ext_hat_K", 6), ("K_F_ext_hat_K", 6)),
    *(("O_dP_EE_d", 6), ("O_ddP_O", 3), ("elbow_c", 2), ("delbow_c", 2), ("ddelbow_c", 2)),
    *(("O_T_EE_c", 16), ("O_dP_EE_c", 6), ("O_ddP_EE_c", 6), ("theta", 7), ("dtheta", 7)),
    *(("accelerometer_top", 18), ("accelerometer_bottom", 18)),
)
STATE = np.dtype(
    [
        ("message_id", "<u8"),
        *((name, "<f4", (count,)) for name, count in _NUMBERS),
        ("motion_generator_mode", "u1"),
        ("controller_mode", "u1"),
        ("errors", "u1", (len(ERRORS),)),
        ("reflex_reason", "u1", (len(ERRORS),)),
        ("robot_mode", "u1"),
        ("control_command_success_rate", "<f4"),
    ]
)
COMMAND = np.dtype(
    [
        ("message_id", "<u8"),
        ("q_c", "<f8", (7,)),
        ("dq_c", "<f8", (7,)),
        ("O_T_EE_c", "<f8", (16,)),
        ("O_dP_EE_c", "<f8", (6,)),
        ("elbow_c", "<f8", (2,)),
        ("valid_elbow", "u1"),
        ("motion_generation_finished", "u1"),
        ("tau_J_d", "<f8", (7,)),
        ("torque_command_finished", "u1"),
    ]
)
_COUNT = sum(count for _, count in _NUMBERS)


def _at(name: str) -> int:
    """Return where the numbers of a state's field begin."""
    return sum(count for _, count in _NUMBERS[: [each for each, _ in _NUMBERS].index(name)])


_ACTUAL, _COMMANDED, _TWIST, _RATE = map(_at, ("O_T_EE", "O_T_EE_c", "O_dP_EE_c", "O_ddP_EE_c"))
_BASE, _STIFFNESS = _at("O_F_ext_hat_K"), _at("K_F_ext_hat_K")
_Q, _Q_D, _DQ_D, _DDQ_D = map(_at, ("q", "q_d", "dq_d", "ddq_d"))
_FLAGS = 8 + 4 * _COUNT  # where the modes begin
_MODE = _FLAGS + 2 + 2 * len(ERRORS)

# What hilt reads of a state, and of a command.
READ_STATE = record(
    message_id="u8",
    X_actual=POSE,
    X_commanded=POSE,
    twist=6,  # of the last command, and its rate
    rate=6,
    q=JOINTS,  # measured; the next three are of the last command
    q_d=JOINTS,
    dq_d=JOINTS,
    ddq_d=JOINTS,
    base=6,  # wrench at the stiffness frame K in the axes of the base; the next one in the axes of K
    stiffness=6,
    generator="i8",
    controller="i8",
    mode="i8",
    reasons=("u1", (len(ERRORS),)),  # errors now, or what caused the last reflex
)
READ_COMMAND = record(message_id="u8", X=POSE, q=JOINTS, finished="i8")

OK, WRONG_SIZE, NOT_A_NUMBER, NOT_A_POSE, UNKNOWN_MODE = 0, 1, 2, 3, 4
_SQUARE = 1e-3  # deviation of a rotation's columns from unit length and right angles that is accepted


# In every cycle


@jit
def is_rotation(m, at):
    """Whether the matrix at `at` is a rotation and a position, column by column."""
    for i in range(3):
        for j in range(i, 3):
            product = 0.0
            for k in range(3):
                product += m[at + 4 * i + k] * m[at + 4 * j + k]
            if not abs(product - (1.0 if i == j else 0.0)) < _SQUARE:
                return False
        if m[at + 4 * i + 3] != 0.0:
            return False
    x, y, z = (m[at], m[at + 1], m[at + 2]), (m[at + 4], m[at + 5], m[at + 6]), (m[at + 8], m[at + 9], m[at + 10])
    place = abs(m[at + 12]) + abs(m[at + 13]) + abs(m[at + 14])
    return vec.dot(vec.cross(x, y), z) > 0.0 and place < np.inf and m[at + 15] == 1.0


@jit
def pose_in(m, at, X):
    """Write the pose of a homogeneous matrix. The largest part of the quaternion comes from a root, so no digits are lost."""
    a, b, c = float(m[at]), float(m[at + 5]), float(m[at + 10])
    sums = (1.0 + a + b + c, 1.0 + a - b - c, 1.0 - a + b - c, 1.0 - a - b + c)
    yz, zx, xy = m[at + 6] - m[at + 9], m[at + 8] - m[at + 2], m[at + 1] - m[at + 4]  # antisymmetric part
    s_yz, s_zx, s_xy = m[at + 6] + m[at + 9], m[at + 8] + m[at + 2], m[at + 1] + m[at + 4]
    if sums[0] >= 1.0:
        q = (sums[0], yz, zx, xy)
    elif sums[1] >= sums[2] and sums[1] >= sums[3]:
        q = (yz, sums[1], s_xy, s_zx)
    elif sums[2] >= sums[3]:
        q = (zx, s_xy, sums[2], s_yz)
    else:
        q = (xy, s_zx, s_yz, sums[3])
    so3.store(X.q, so3.normalise((float(q[0]), float(q[1]), float(q[2]), float(q[3]))))
    vec.store(X.p, (float(m[at + 12]), float(m[at + 13]), float(m[at + 14])))


@jit
def matrix_of(X, m):
    """Write the matrix of a pose, column by column."""
    q = so3.load(X.q)
    for i in range(3):
        axis = so3.rotate(q, (1.0 if i == 0 else 0.0, 1.0 if i == 1 else 0.0, 1.0 if i == 2 else 0.0))
        m[4 * i], m[4 * i + 1], m[4 * i + 2], m[4 * i + 3] = axis[0], axis[1], axis[2], 0.0
    p = vec.load(X.p)
    m[12], m[13], m[14], m[15] = p[0], p[1], p[2], 1.0


@jit
def _take_state(b, numbers, out):
    for at in range(len(numbers)):
        if not abs(numbers[at]) < np.inf:
            return NOT_A_NUMBER
    if not (is_rotation(numbers, _ACTUAL) and is_rotation(numbers, _COMMANDED)):
        return NOT_A_POSE
    if b[_FLAGS] > 5 or b[_FLAGS + 1] > 3 or b[_MODE] > 6:
        return UNKNOWN_MODE
    number = np.uint64(0)
    for i in range(8):
        number = number << np.uint64(8) | np.uint64(b[7 - i])
    out.message_id = number
    pose_in(numbers, _ACTUAL, out.X_actual)
    pose_in(numbers, _COMMANDED, out.X_commanded)
    for i in range(6):
        out.twist[i], out.rate[i] = numbers[_TWIST + i], numbers[_RATE + i]
        out.base[i], out.stiffness[i] = numbers[_BASE + i], numbers[_STIFFNESS + i]
    for i in range(JOINTS):
        out.q[i], out.q_d[i] = numbers[_Q + i], numbers[_Q_D + i]
        out.dq_d[i], out.ddq_d[i] = numbers[_DQ_D + i], numbers[_DDQ_D + i]
    out.generator, out.controller, out.mode = b[_FLAGS], b[_FLAGS + 1], b[_MODE]
    for i in range(41):
        out.reasons[i] = 1 if b[_FLAGS + 2 + i] or b[_FLAGS + 43 + i] else 0
    return OK


def decode_state(data: bytes, out: Any) -> int:
    """Take what hilt needs from a state; OK, or a code with `out` unchanged."""
    if len(data) != STATE.itemsize:
        return WRONG_SIZE
    return int(_take_state(np.frombuffer(data, np.uint8), np.frombuffer(data, "<f4", _COUNT, 8), out))


def decode_command(data: bytes, generator: int, out: Any) -> int:
    """Take number, end flag, and pose or angles of a command, as the generator says; OK, or a code with `out` unchanged."""
    if len(data) != COMMAND.itemsize:
        return WRONG_SIZE
    command = np.frombuffer(data, COMMAND, 1)[0]
    numbers = np.array(command["q_c" if generator == JOINT_POSITION else "O_T_EE_c"])
    if not np.isfinite(numbers).all():
        return NOT_A_NUMBER
    if generator == JOINT_POSITION:
        out["q"] = numbers
    elif is_rotation(numbers, 0):
        pose_in(numbers, 0, out["X"])
    else:
        return NOT_A_POSE
    out["message_id"], out["finished"] = command["message_id"], command["motion_generation_finished"] != 0
    return OK


class OutgoingCommand:
    """A command to send, written in place."""

    def __init__(self) -> None:
        self.data = bytearray(COMMAND.itemsize)
        self._command = np.frombuffer(self.data, COMMAND, 1)
        self._matrix = np.zeros(16)

    def write(self, message_id: int, X: Any, finished: bool) -> bytearray:
        """Write the answer to a state: a pose, and whether the motion ends with it."""
        matrix_of(X, self._matrix)
        self._command["O_T_EE_c"][0] = self._matrix
        return self._end(message_id, finished)

    def write_angles(self, message_id: int, q: Any, finished: bool) -> bytearray:
        """The same with angles of the joints."""
        self._command["q_c"][0] = q
        return self._end(message_id, finished)

    def _end(self, message_id: int, finished: bool) -> bytearray:
        self._command["message_id"], self._command["motion_generation_finished"] = message_id, finished
        return self.data


class OutgoingState:
    """A state to send, written in place: fields by their names, poses as poses."""

    def __init__(self) -> None:
        self.data = bytearray(STATE.itemsize)
        self.fields = np.frombuffer(self.data, STATE, 1)
        self._matrix = np.zeros(16)
        still = np.zeros(1, POSE)[0]
        still["q"][0] = 1.0
        for name in ("O_T_EE", "O_T_EE_d", "O_T_EE_c", "F_T_EE", "EE_T_K", "F_T_NE", "NE_T_EE"):
            self.place(name, still)

    def place(self, name: str, X: Any) -> None:
        matrix_of(X, self._matrix)
        self.fields[name][0] = self._matrix


def reasons_of(state: Any) -> list[str]:
    """Return the names of a state's errors."""
    return [ERRORS[number] for number in np.flatnonzero(state["reasons"])]


# Over TCP


class Message(NamedTuple):
    command: int
    number: int
    payload: bytes


def message(command: int, number: int, payload: bytes = b"") -> bytes:
    return HEADER.pack(command, number, HEADER.size + len(payload)) + payload


def take_message(buffer: bytearray) -> tuple[int, Message | None]:
    """Take a whole message off the front of a buffer, if there is one; WRONG_SIZE if its size is impossible."""
    if len(buffer) < HEADER.size:
        return OK, None
    command, number, size = HEADER.unpack_from(buffer)
    if not HEADER.size <= size <= SIZE_MAX:
        return WRONG_SIZE, None
    if len(buffer) < size:
        return OK, None
    found = Message(command, number, bytes(buffer[HEADER.size : size]))
    del buffer[:size]
    return OK, found


def connect_request(number: int, udp_port: int, version: int = VERSION) -> bytes:
    return message(CONNECT, number, struct.pack("<HH", version, udp_port))


def read_connect_request(payload: bytes) -> tuple[int, int]:
    """Return version and UDP port; zeros if it cannot be read."""
    return struct.unpack_from("<HH", payload) if len(payload) >= 4 else (0, 0)


def connect_reply(number: int, status: int, version: int = VERSION) -> bytes:
    return message(CONNECT, number, struct.pack("<HH4x", status, version))


def read_connect_reply(payload: bytes) -> tuple[int, int]:
    """Return status and the robot's version; a refusal by version 0 if it cannot be read."""
    return struct.unpack_from("<HH", payload) if len(payload) >= 4 else (INCOMPATIBLE, 0)


_MOVE = struct.Struct("<II6d")
_WIDE = (10.0, 3.12, 2.0 * math.pi)  # [m], [rad], elbow [rad]: deviations that never stop a motion, as in the vendor's client


def move_request(number: int, controller: int, generator: int) -> bytes:
    return message(MOVE, number, _MOVE.pack(controller, generator, *_WIDE, *_WIDE))


def read_move_request(payload: bytes) -> tuple[int, int]:
    """Return controller and motion generator; -1 if it cannot be read."""
    return _MOVE.unpack_from(payload)[:2] if len(payload) >= _MOVE.size else (-1, -1)


def collision_request(number: int, torque: float, force: float) -> bytes:
    """Set the joint torque [N·m] and the force at the tool [N] above which the robot treats a contact as a collision."""
    return message(SET_COLLISION_BEHAVIOR, number, struct.pack("<52d", *(torque,) * 28, *(force,) * 24))


def status_reply(command: int, number: int, status: int, more: bytes = b"") -> bytes:
    return message(command, number, bytes([status]) + more)


def read_status(payload: bytes) -> int:
    """Return the status of a reply; -1 if there is none."""
    return payload[0] if payload else -1
