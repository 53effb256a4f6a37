"""Inverse kinematics: joint angles that put the flying arm's tool at its compliant pose.

Damped least squares (hilt.maths.chain), a few iterations per tick, from the angles commanded last; the total motion of a joint
in a tick stays within its speed. All is in b, which flies with the arm. The remaining error is `ik_error`. A tool that is far
from its compliant pose for long is a fault: the pose is out of reach, or moves faster than the joints can. A push of 10 N on
the soft arm demands 0.6 m/s, twice what the joints can do: for most of a second that is not a fault.
"""

from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, Metre3, Quaternion, Second
from hilt.maths import chain, so3, vec
from hilt.maths.chain import CHAIN, CHAIN_WORK
from hilt.systems.aerial.flying_arm import JOINTS, FlyingArm, pack_flying_chain, posture_for


class ArmIk(Section):
    """Inverse kinematics of the flying arm."""

    iterations: int = Field(default=3, ge=1, le=10, description="per tick")
    max_error: Metre = Field(
        default=0.05, gt=0, description="of the tool; a larger error for longer than `patience` is a fault"
    )
    patience: Second = Field(default=2.0, ge=0, description="time after which an error above max_error is a fault")


@jit
def arm_ik_step(sig, x, p, dt):
    sig.ik_error, sig.ik_turn_error = chain.ik(
        x.work,
        p.chain,
        x.q,
        vec.load(sig.X_bE_cmd.p),
        so3.load(sig.X_bE_cmd.q),
        (0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0, 0.0),
        dt / p.iterations,
        p.iterations,
    )
    for i in range(JOINTS):
        sig.q_uam_c[i] = x.q[i]
    x.beyond = x.beyond + dt if sig.ik_error > p.max_error else 0.0
    if x.beyond > p.patience:
        faults.trip(sig, faults.FLYING_ARM_ERROR, -1, sig.ik_error, p.max_error)


@dataclass(frozen=True)
class JointsOfArm:
    """The arm, and where it holds its tool at the start."""

    section: ArmIk
    flying_arm: FlyingArm
    tool_position: Metre3  # in the frame of the base
    tool_attitude: Quaternion


def _pack(p: np.record, config: JointsOfArm, loop: Cycle) -> None:
    section = config.section
    pack_flying_chain(p.chain, config.flying_arm)
    p.posture = posture_for(config.tool_position, config.tool_attitude)
    p.iterations, p.max_error, p.patience = section.iterations, section.max_error, section.patience


@jit
def _reset(sig, x, p):
    for i in range(JOINTS):
        x.q[i] = sig.q_uam_c[i] = p.posture[i]


ARM_IK = StageKind(
    "arm-ik",
    arm_ik_step,
    reads=("X_bE_cmd", "fault"),
    writes=("q_uam_c", "ik_error", "ik_turn_error", "fault", "fault_axis", "fault_value", "fault_limit"),
    state=record(q=JOINTS, work=CHAIN_WORK, beyond="f8"),
    params=record(chain=CHAIN, posture=JOINTS, iterations="i8", max_error="f8", patience="f8"),
    pack=_pack,
    reset=_reset,
)
