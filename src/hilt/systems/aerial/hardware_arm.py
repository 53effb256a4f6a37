"""The hardware arm: a KUKA iiwa 7 R800 from its public data sheet, with a sensor and a tool on its flange.

The compliant pose is limited to the box, then converted to joint angles by damped least squares within joint and speed limits,
warm-started (hilt.maths.chain). The command is the pose that the joints really reach, so it is always possible; its distance
from the requested pose is watched: a short excess is a speed limit, a long one is a fault.

The steps share the tick, T/3 each: in total no joint moves further than its speed allows. The last port of the ledger is
here: the wrench on the requested minus the commanded motion.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.compiled.interpreted import sparing
from hilt.core import faults, ledger
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import PORT, POSE, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, Quaternion, Radian, Second
from hilt.maths import chain, so3, spatial, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK

JOINTS = 7
BASE_TO_SHOULDER, SHOULDER_TO_ELBOW, ELBOW_TO_WRIST, WRIST_TO_FLANGE = 0.34, 0.40, 0.40, 0.126  # m
LIMITS = tuple(math.radians(angle) for angle in (170, 120, 170, 120, 170, 120, 175))  # both ways
SPEEDS = tuple(math.radians(rate) for rate in (98, 98, 100, 130, 140, 180, 180))  # per second
SHOULDER = (0.0, 0.0, BASE_TO_SHOULDER)
ITERATIONS = 3

Y, Z, ELBOW = (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)
AXES = (Z, Y, Z, ELBOW, Z, Y, Z)
# Of each joint above the previous one; the position of a joint along its own axis makes no difference.
HEIGHTS = (0.15, BASE_TO_SHOULDER - 0.15, 0.2, SHOULDER_TO_ELBOW - 0.2, 0.2, ELBOW_TO_WRIST - 0.2, 0.0)

FOUND = 1e-9  # m and rad: a start posture this close fits
AMPLE = math.radians(20.0)  # from every joint limit: enough to stop searching
SEEDS = (*itertools.product((0.0, 2.5), (0.5, 1.2, -0.5), (-1.6, 1.6), (0.9, -0.9)),)  # spin of the arm, shoulder, elbow, wrist


class HardwareArm(Section):
    """The arm that the human touches: the start of its tool and its workspace. H is the arm's base, z up."""

    tool_length: Metre = Field(default=0.10, ge=0, description="from the flange to the tool's origin: sensor and tool")
    start: Metre3 = Field(default=(0.5, 0.0, 0.4), description="of the tool, in H; overridden by frames.position if given")
    attitude: Quaternion = Field(
        default=(0.0, 0.0, 1.0, 0.0), description="of the tool at the start, w x y z; its z points out of the flange, here down"
    )
    box_min: Metre3 = Field(default=(0.15, -0.6, 0.05), description="lower corner of the box that the tool stays inside, in H")
    box_max: Metre3 = Field(default=(0.8, 0.6, 1.0))
    reach: Metre = Field(default=0.75, gt=0, description="largest distance of the tool from the shoulder, which is 0.34 m up")
    error_limit: Metre = Field(default=0.02, gt=0, description="largest lasting distance of the tool from its compliant pose")
    turn_error_limit: Radian = Field(default=0.2, gt=0, description="the same as an angle")
    patience: Second = Field(default=0.2, ge=0, description="time for which the tool may exceed error_limit")

    @model_validator(mode="after")
    def _box(self) -> "HardwareArm":
        for axis, low, high in zip("xyz", self.box_min, self.box_max, strict=True):
            if not low < high:
                raise Unfit(
                    f"hardware_arm.box_min {axis} is {low:g} m and hardware_arm.box_max {axis} is {high:g} m; the first must "
                    "be smaller; swap them",
                    "hardware_arm.box_min",
                    "hardware_arm.box_max",
                )
        return self

    def check(self, p_HB: Metre3, q_HB: Quaternion) -> None:
        """Check that the arm can reach the pose at which its tool starts."""
        distance = math.dist(p_HB, SHOULDER)
        place = ", ".join(f"{part:g}" for part in p_HB)
        if distance > self.reach:
            raise Unfit(
                f"the hardware's tool starts at {place} m, {distance:.4g} m from the arm's shoulder; at most "
                f"{self.reach:g} m is allowed; choose a closer hardware_arm.start",
                "hardware_arm.start",
            )
        for axis, low, at, high in zip("xyz", self.box_min, p_HB, self.box_max, strict=True):
            if not low <= at <= high:
                raise Unfit(
                    f"the hardware's tool starts at {place} m; its box extends from {low:g} m to {high:g} m in {axis}; widen "
                    "hardware_arm.box_min and hardware_arm.box_max or start inside",
                    "hardware_arm.box_min",
                    "hardware_arm.box_max",
                )
        _, left = start_posture(self, p_HB, q_HB)
        if left > FOUND:
            raise Unfit(
                f"the hardware's tool starts at {place} m, {distance:.4g} m from the arm's shoulder, in an attitude that its "
                f"joints miss by {left:.2g} (m, rad); at most {FOUND:g} is allowed; change hardware_arm.start or "
                "hardware_arm.attitude",
                "hardware_arm.start",
                "hardware_arm.attitude",
            )


def pack_iiwa(p, tool_length: float) -> None:
    """The arm as a chain: at zero angles it stands straight up."""
    chain.pack_chain(
        p,
        axis=AXES,
        origin=[(0.0, 0.0, height) for height in HEIGHTS],
        tool=(0.0, 0.0, WRIST_TO_FLANGE + tool_length),
        limits=[(-limit, limit) for limit in LIMITS],
        speeds=SPEEDS,
    )


@functools.lru_cache(maxsize=32)
def start_posture(section: HardwareArm, p_HB: Metre3, q_HB: Quaternion) -> tuple[tuple[float, ...], float]:
    """Joint angles for a pose of the tool, and their error [m, rad]: the first solution with ample distance from all
    joint limits, or otherwise the one with the most."""
    work, table = np.zeros(1, CHAIN_WORK)[0], np.zeros(1, CHAIN)[0]
    pack_iiwa(table, section.tool_length)
    best, room, least = np.zeros(JOINTS), -math.inf, math.inf
    towards = math.atan2(p_HB[1], p_HB[0])
    for spin, shoulder, elbow, wrist in SEEDS:
        q, left = np.array([towards, shoulder, spin, elbow, 0.0, wrist, 0.0]), math.inf
        for _ in range(15):
            left = max(sparing(chain.ik)(work, table, q, p_HB, q_HB, *spatial.UNMOVED, 0.2, 4))
            if left <= 0.01 * FOUND:
                break
        spare = float(np.min(np.array(LIMITS) - np.abs(q))) if left <= FOUND else -math.inf
        if spare > room or (room == -math.inf and left < least):
            best, room, least = q, spare, left
        if room > AMPLE:
            break
    return tuple(best.tolist()), least


@jit
def _into_box(p, place):
    return (
        min(max(place[0], p.box_min[0]), p.box_max[0]),
        min(max(place[1], p.box_min[1]), p.box_max[1]),
        min(max(place[2], p.box_min[2]), p.box_max[2]),
    )


@jit
def _watch(sig, x, p, place, turn_error, dt):
    """Trip a fault: out of reach (at once), or an error that persists."""
    out = vec.sub(place, (0.0, 0.0, p.shoulder))
    square = vec.dot(out, out)
    if not square <= p.reach * p.reach:  # NaN counts as out of reach too
        faults.trip(sig, faults.HARDWARE_REACH, -1, math.sqrt(square), p.reach)
    x.late = x.late + dt if sig.ik_hw_error > p.error_limit else 0.0
    x.late_turn = x.late_turn + dt if turn_error > p.turn_error_limit else 0.0
    if x.late > p.patience:
        faults.trip(sig, faults.HARDWARE_ERROR, -1, sig.ik_hw_error, p.error_limit)
    if x.late_turn > p.patience:
        faults.trip(sig, faults.HARDWARE_TURN_ERROR, -1, turn_error, p.turn_error_limit)


@jit
def _work(sig, before, after):
    """Work of the filtered wrench on the motion from one pose to the next."""
    moved, turned = vec.sub(after[0], before[0]), so3.between(before[1], after[1])
    return vec.dot(vec.load(sig.F_h_H.f), moved) + vec.dot(vec.load(sig.F_h_H.tau), turned)


@jit
def hardware_ik_step(sig, x, p, dt):
    ledger.publish(sig.W_limits, x.limits)  # of the previous ticks, like the other ports
    requested, before = spatial.load(sig.X_WB_asked), spatial.load(x.reached)
    place = _into_box(p, requested[0])
    sig.ik_hw_error, turn_error = chain.ik(
        x.work, p.chain, x.q, place, requested[1], (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0), dt / ITERATIONS, ITERATIONS
    )
    _watch(sig, x, p, place, turn_error, dt)
    reached = vec.load(x.work.p), so3.load(x.work.q)
    ledger.book(x.limits, _work(sig, spatial.load(x.requested), requested) - _work(sig, before, reached), 1.0, 1.0)
    spatial.store(x.requested, requested)
    spatial.store(x.reached, reached)
    spatial.store(sig.X_WB_cmd, reached)
    vec.store(sig.V_WB_cmd.v, vec.scale(1.0 / dt, vec.sub(reached[0], before[0])))
    vec.store(sig.V_WB_cmd.w, vec.scale(1.0 / dt, so3.between(before[1], reached[1])))
    for i in range(JOINTS):
        sig.q_hw[i] = x.q[i]


@dataclass(frozen=True)
class ArmAtStart:
    """The arm, and where its tool starts, in H."""

    arm: HardwareArm
    position: Metre3
    attitude: Quaternion


def _pack(p: np.record, config: ArmAtStart, loop: Cycle) -> None:
    given, start = config.arm, (config.position, config.attitude)
    pack_iiwa(p.chain, given.tool_length)
    for name in ("box_min", "box_max", "reach", "error_limit", "turn_error_limit", "patience"):
        p[name] = getattr(given, name)
    p.shoulder = BASE_TO_SHOULDER
    p.start.p, p.start.q = start
    p.q0, _ = start_posture(given, *start)


@jit
def _reset(sig, x, p):
    """At rest where the tool starts."""
    for i in range(JOINTS):
        x.q[i] = sig.q_hw[i] = p.q0[i]
    chain.forward(x.work, p.chain, x.q, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0))
    reached = vec.load(x.work.p), so3.load(x.work.q)
    spatial.store(x.requested, spatial.load(p.start))
    spatial.store(x.reached, reached)
    spatial.store(sig.X_WB_cmd, reached)


HARDWARE_IK = StageKind(
    "hardware-ik",
    hardware_ik_step,
    reads=("X_WB_asked", "F_h_H", "ik_hw_error"),
    writes=(
        "X_WB_cmd",
        "V_WB_cmd",
        "q_hw",
        "ik_hw_error",
        "W_limits",
        "fault",
        "fault_axis",
        "fault_value",
        "fault_limit",
    ),
    state=record(work=CHAIN_WORK, q=JOINTS, requested=POSE, reached=POSE, late="f8", late_turn="f8", limits=PORT),
    params=record(
        chain=CHAIN,
        box_min=3,
        box_max=3,
        shoulder="f8",
        reach="f8",
        error_limit="f8",
        turn_error_limit="f8",
        patience="f8",
        start=POSE,
        q0=JOINTS,
    ),
    pack=_pack,
    reset=_reset,
)
