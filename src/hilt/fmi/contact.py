"""Something that the mock-up touches, as an FMU: a block of the simulated world.

The FMU is stepped to t_k with the motion of the mock-up at t_k, so a wrench that depends on the motion alone is not
delayed. At t = 0 it is the FMU's own start value, for a mock-up at the start of the scenario.
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import interpreted, jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import Body
from hilt.fmi import calls, instance, wiring
from hilt.fmi.description import Description
from hilt.fmi.section import ContactFmu
from hilt.fmi.wiring import Wires
from hilt.maths import so3, vec


@jit
def fmu_contact_step(sig, x, p, dt):
    pose, twist, link = sig.X_WB_true, sig.V_WB_true, x.link
    for i in range(3):
        link.inputs[i] = pose.p[i]
        link.inputs[7 + i] = twist.v[i]
        link.inputs[10 + i] = twist.w[i]
    for i in range(4):
        link.inputs[3 + i] = pose.q[i]
    if x.started:
        calls.advance(sig, link, p.link, dt)
    x.started = 1
    f = (link.outputs[0], link.outputs[1], link.outputs[2])
    tau = (link.outputs[3], link.outputs[4], link.outputs[5])
    arm_W = so3.rotate(so3.load(pose.q), vec.load(p.p_BcmBo_B))
    vec.store(sig.F_Bcm_true_W.f, vec.add(vec.load(sig.F_Bcm_true_W.f), f))
    vec.store(sig.F_Bcm_true_W.tau, vec.add(vec.load(sig.F_Bcm_true_W.tau), vec.add(tau, vec.cross(arm_W, f))))


@dataclass(frozen=True)
class ImportedContact:
    """The FMU, and the body whose mock-up touches it."""

    fmu: ContactFmu | None
    body: Body

    def check(self, period: float) -> None:
        """Refuse names and periods that do not fit; a missing FMU is refused when a run begins."""
        if self.fmu is not None and self.fmu.here:
            _connected(self.fmu, period)


def _connected(fmu: ContactFmu, period: float) -> tuple[Description, Wires, Wires]:
    about = instance.described(fmu, period)
    motion = [("position", 0, 3), ("attitude", 3, 4), ("velocity", 7, 3), ("angular_velocity", 10, 3)]
    sends = wiring.connect(fmu, about, "input", motion)
    return about, sends, wiring.connect(fmu, about, "output", [("force", 0, 3), ("torque", 3, 3)])


def _pack(p: np.record, config: ImportedContact, loop: Cycle) -> None:
    fmu, body = config.fmu, config.body
    assert fmu is not None  # without an FMU there is no such block
    made = instance.open_for(p, fmu, *_connected(fmu, loop.period), _motion(body))
    p.start = made.start
    p.p_BcmBo_B = -np.array(body.centre_of_mass)
    calls.pack(p.link, made)


def _motion(body: Body) -> np.ndarray:
    """Return the pose and the twist of the mock-up's frame at the start."""
    rotate = interpreted(so3.rotate)
    w_W = np.array(rotate(body.attitude, body.angular_velocity))
    arm_W = -np.array(rotate(body.attitude, body.centre_of_mass))
    return np.concatenate([body.position + arm_W, body.attitude, body.velocity + np.cross(w_W, arm_W), w_W])


@jit
def _reset(sig, x, p):
    calls.begin(x.link, p.start)


FMU_CONTACT = StageKind(
    "fmu-contact",
    fmu_contact_step,
    reads=("X_WB_true", "V_WB_true", "F_Bcm_true_W", "fault", "fault_axis", "fault_value", "fault_limit"),
    writes=("F_Bcm_true_W", "fault", "fault_axis", "fault_value", "fault_limit"),
    state=record(link=calls.STATE, started="i8"),
    params=record(link=calls.LINK, start=calls.MOST, p_BcmBo_B=3),
    pack=_pack,
    reset=_reset,
    one_bench=True,
)
