"""The packets of RSI as poses in SI: millimetres, degrees and KUKA's angles A, B, C appear only in this file.

    R = Rz(A) Ry(B) Rx(C)          A, B, C in degrees

`Rob` is the controller's packet (the robot's pose and joints), `Sen` the answer that it needs (a correction of the pose, RKorr,
or of the joints, AK, and the same IPOC).
Poses are the controller's poses of the tool in the robot's base; no socket, no clock, no exception.
"""

import math
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import POSE, record
from hilt.device.rsi import scan
from hilt.device.rsi.scan import OK as OK
from hilt.maths import so3

PORT = 59152
SIZE_MAX = 2048  # no packet is longer; a datagram of 1 to 1472 bytes is usual
CYCLES = (0.004, 0.012)  # [s], the two clocks of the controller
TICKS_PER_SECOND = 1000  # IPOC counts milliseconds

_MILLI = 1e-3
_DEGREE = math.pi / 180.0

# `X_act` and `X_set`: actual and commanded pose of the tool; `q_act`, `q_set`: the same for the joints [rad].
ROB = record(X_act=POSE, X_set=POSE, q_act=6, q_set=6, delay="i8", ipoc="i8", seen="i8")
SEN = record(correction=POSE, joints=6, ipoc="i8", seen="i8")  # `joints`: a correction of them [rad]


@jit
def quaternion_of(a, b, c):
    """Return the quaternion of KUKA's angles [rad]."""
    ca, sa, cb, sb = math.cos(0.5 * a), math.sin(0.5 * a), math.cos(0.5 * b), math.sin(0.5 * b)
    cc, sc = math.cos(0.5 * c), math.sin(0.5 * c)
    return (
        ca * cb * cc + sa * sb * sc,
        ca * cb * sc - sa * sb * cc,
        ca * sb * cc + sa * cb * sc,
        sa * cb * cc - ca * sb * sc,
    )


@jit
def angles_of(q):
    """Return A, B, C [rad] of a quaternion; where A and C turn about one axis (B = ±90°), C is 0.

    B is an arctangent of its sine and cosine: an arcsine alone would lose half the digits near ±90°.
    """
    w, x, y, z = q
    r00, r10, r20 = 1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y + w * z), 2.0 * (x * z - w * y)
    r21, r22 = 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)
    cosine = math.sqrt(r00 * r00 + r10 * r10)
    b = math.atan2(-r20, cosine)
    if cosine > 1e-8:
        return math.atan2(r10, r00), b, math.atan2(r21, r22)
    return math.atan2(-2.0 * (x * y - w * z), 1.0 - 2.0 * (x * x + z * z)), b, 0.0


@jit
def _to_pose(value, k, X):
    for i in range(3):
        X.p[i] = _MILLI * value[k, i]
    so3.store(X.q, quaternion_of(_DEGREE * value[k, 3], _DEGREE * value[k, 4], _DEGREE * value[k, 5]))


@jit
def _decode_rob(b, n, packet, out):
    code = scan.scan(b, n, scan.ROB, packet)
    if code != scan.OK:
        return code
    seen = packet.seen
    if not seen >> scan.RIST & 1:
        return scan.MISSING
    _to_pose(packet.value, scan.RIST, out.X_act)
    if seen >> scan.RSOL & 1:
        _to_pose(packet.value, scan.RSOL, out.X_set)
    for i in range(6):
        if seen >> scan.AIPOS & 1:
            out.q_act[i] = _DEGREE * packet.value[scan.AIPOS, i]
        if seen >> scan.ASPOS & 1:
            out.q_set[i] = _DEGREE * packet.value[scan.ASPOS, i]
    if seen >> scan.DELAY & 1:
        out.delay = packet.delay
    out.ipoc = packet.ipoc
    out.seen = seen
    return scan.OK


@jit
def _decode_sen(b, n, packet, out):
    code = scan.scan(b, n, scan.SEN, packet)
    if code != scan.OK:
        return code
    poses, joints = packet.seen >> scan.RKORR & 1, packet.seen >> scan.AK & 1
    if poses + joints != 1:
        return scan.MISSING
    if poses:
        _to_pose(packet.value, scan.RKORR, out.correction)
    else:
        for i in range(6):
            out.joints[i] = _DEGREE * packet.value[scan.AK, i]
    out.ipoc = packet.ipoc
    out.seen = packet.seen
    return scan.OK


def _decode(compiled: Any, data: bytes, out: Any) -> int:
    if not 0 < len(data) <= SIZE_MAX:
        return scan.BAD_LENGTH
    return int(compiled(np.frombuffer(bytes(data), np.uint8), len(data), np.zeros(1, scan.PACKET)[0], out))


def decode_rob(data: bytes, out: Any) -> int:
    """Fill `out` (a record ROB) from a packet of the controller; OK, or a code with `out` unchanged.

    RIst and IPOC are required; the others keep their last value if the controller does not send them.
    """
    return _decode(_decode_rob, data, out)


def decode_sen(data: bytes, out: Any) -> int:
    """Fill `out` (a record SEN) from an answer to the controller; OK, or a code with `out` unchanged.

    It corrects the pose or the joints, never both: `takes_joints` says which.
    """
    return _decode(_decode_sen, data, out)


@jit
def _frame(X):
    """Return X, Y, Z in millimetres and A, B, C in degrees."""
    a, b, c = angles_of(so3.load(X.q))
    return X.p[0] / _MILLI, X.p[1] / _MILLI, X.p[2] / _MILLI, a / _DEGREE, b / _DEGREE, c / _DEGREE


def _six(names: str, values: Any) -> str:
    # Six decimals: a nanometre. Rounding errors do not accumulate, since the driver remembers what it really sent.
    return " ".join(f'{name}="{value:.6f}"' for name, value in zip(names.split(), values, strict=True))


def takes_joints(sen: Any) -> bool:
    """Whether an answer corrects the joints, and not the pose."""
    return bool(int(sen["seen"]) >> scan.AK & 1)


def has_joints(rob: Any) -> bool:
    """Whether the controller sends its joints."""
    return bool(int(rob["seen"]) >> scan.AIPOS & 1)


_JOINTS = "A1 A2 A3 A4 A5 A6"


def encode_rob(rob: Any) -> bytes:
    """Encode a packet of the controller."""
    return (
        f'<Rob Type="KUKA"><RIst {_six("X Y Z A B C", _frame(rob["X_act"]))}/>'
        f"<RSol {_six('X Y Z A B C', _frame(rob['X_set']))}/>"
        f"<AIPos {_six(_JOINTS, rob['q_act'] / _DEGREE)}/><ASPos {_six(_JOINTS, rob['q_set'] / _DEGREE)}/>"
        f'<Delay D="{int(rob["delay"])}"/><IPOC>{int(rob["ipoc"])}</IPOC></Rob>'
    ).encode()


def encode_sen(correction: Any, ipoc: int, kind: str = "ImFree") -> bytes:
    """Encode an answer to the controller; `kind` is the name that its configuration expects (SENTYPE)."""
    return _sen(f"RKorr {_six('X Y Z A B C', _frame(correction))}", ipoc, kind)


def encode_joints(correction: Any, ipoc: int, kind: str = "ImFree") -> bytes:
    """The same for a correction of the joints [rad]."""
    # Nine decimals: a billionth of a degree is a hundredth of a nanometre at the end of a long arm.
    angles = " ".join(f'A{i + 1}="{angle / _DEGREE:.9f}"' for i, angle in enumerate(correction))
    return _sen(f"AK {angles}", ipoc, kind)


def _sen(element: str, ipoc: int, kind: str) -> bytes:
    return f'<Sen Type="{kind}"><{element}/><IPOC>{int(ipoc)}</IPOC></Sen>'.encode()


def warm_up() -> None:
    """Compile everything before the first packet, which must be answered within a cycle."""
    rob, sen = np.zeros(1, ROB)[0], np.zeros(1, SEN)[0]
    for pose in (rob["X_act"], rob["X_set"], sen["correction"]):
        pose["q"][0] = 1.0
    decode_rob(encode_rob(rob), rob)
    decode_sen(encode_sen(sen["correction"], 0), sen)
