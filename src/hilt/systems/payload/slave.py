"""The slave arm's law on orbit: follow the reference, yield to the force, stay close to the virtual arm.

    V_c = V_r(t - d) - K_s F_s + K_c (X_vir(t - d) - X_s) - D (V_s(t - T) - V_s(t - 2T))        (2), (3)

in six degrees of freedom; the rotational gains are 0 in the paper. What the arm follows when the link is silent is in
outage.py. With the identification on, the bias is subtracted from the force, and the force that the virtual payload would not
need, because its mass is wrong or it has no drag, is fed forward, without a loop through the delay:

    f_s  ->  f_s - b - (m - m_vir) a_tvir - c v_tvir
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core import faults
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Number
from hilt.maths import so3, vec
from hilt.systems.payload.fingers import HALF
from hilt.systems.payload.identify import IdentifyPayload, push_reference
from hilt.systems.payload.outage import POLICIES, SILENT, brake, follow, watch_link

PUSH_GAIN = 0.3  # 1/s, back to the path of the identification push
TRUST_DOUBT = 0.03  # relative deviation of the mass above which nothing is fed forward
TRUST_TIME = 1.0  # s in which the feed-forward fades in and out


class Slave(Section):
    """Gains of the slave arm; the defaults are the paper's Table 2."""

    force_feedback: bool = True
    compliance: Number = Field(default=1.0 / 1400.0, gt=0, description="K_s, m/(s·N)")
    coupling: Number = Field(default=0.08, ge=0, description="K_c, 1/s (K_V of Table 2)")
    damping: Number = Field(default=0.3, ge=0, description="D")
    rotational_compliance: Number = Field(default=0.0, ge=0, description="K_s of rotation, rad/(s·N·m)")
    rotational_coupling: Number = Field(default=0.0, ge=0, description="K_c of rotation, 1/s")
    rotational_damping: Number = Field(default=0.0, ge=0, description="D of rotation")
    feed_forward: bool = Field(default=True, description="of the mass and drag missing in the virtual payload, once identified")


@jit
def _pull(sig, x, p):
    """The coupling to the virtual arm."""
    turned = so3.between(so3.load(sig.q_s), so3.load(sig.q_vir_orbit))
    for i in range(3):
        x.pull[i] = p.K_c[i] * (sig.x_vir_orbit[i] - sig.x_s[i] - sig.offset[i])
        x.pull[3 + i] = p.K_c[3 + i] * turned[i]


@jit
def _push(sig, x, p):
    """The identification push: a short move out and back, with the force that the believed mass needs."""
    x_d, v_d, a_d = push_reference(sig.t, p)
    done = 0.0
    for i in range(3):
        done += p.direction[i] * (sig.x_s[i] - p.x0[i])
    speed = v_d + p.K_f[0] * p.mass * a_d + PUSH_GAIN * (x_d - done)
    for i in range(3):
        x.v_out[i], x.v_out[3 + i] = speed * p.direction[i], 0.0


@jit
def _expected(sig, x, p, i):
    """The expected force: the sensor's bias, and the force that the virtual payload would not need."""
    if not p.identify or i >= 3:
        return 0.0
    if x.trust == 0.0:
        return sig.b_hat * p.direction[i]
    more = (sig.m_hat / sig.m_vir_orbit - 1.0) * sig.f_vir_orbit[i] + sig.c_hat_payload * sig.v_tvir_orbit[i]
    return sig.b_hat * p.direction[i] + x.trust * more


@jit
def _watch_wrist(sig, p):
    square = vec.dot(vec.load(sig.f_s), vec.load(sig.f_s))
    if not square <= p.force_limit * p.force_limit:  # NaN counts as too much
        faults.trip(sig, faults.WRIST_FORCE, -1, math.sqrt(square), p.force_limit)


@jit
def slave_step(sig, x, p, dt):
    _watch_wrist(sig, p)
    watch_link(sig, x)
    _pull(sig, x, p)
    if p.identify and sig.t < p.push_end:
        _push(sig, x, p)
    else:
        sig.pushed = p.identify
        left, force = brake(sig, x, p, dt) if sig.link_state == SILENT else (0.0, 0.0)
        for i in range(6):
            reference = sig.v_r_orbit[i] if i < 3 else sig.w_r_orbit[i - 3]
            x.v_out[i] = follow(sig, x, p, reference + x.pull[i], i, left, force)
    holds = sig.grip_open < HALF
    known = p.feed_forward and holds and sig.pushed and sig.link_state != SILENT
    known = known and sig.m_var < (TRUST_DOUBT * sig.m_hat) ** 2
    x.trust = min(max(x.trust + (dt if known else -dt) / TRUST_TIME, 0.0), 1.0)
    total = 0.0
    for i in range(6):
        v_s, F_s = (sig.v_s[i], sig.f_s[i]) if i < 3 else (sig.w_s[i - 3], sig.tau_s[i - 3])
        damping = p.D[i] * (v_s - x.v_before[i])
        x.v_before[i] = v_s
        command = x.v_out[i] - p.K_f[i] * (F_s - _expected(sig, x, p, i)) - damping  # [Yang2018, eq. 2]
        total += command
        if i < 3:
            sig.v_sc[i] = command
        else:
            sig.w_sc[i - 3] = command
    if not math.isfinite(total):  # the ground may send anything; a non-finite value must not reach the arm
        faults.trip(sig, faults.NOT_FINITE, -1, total, 0.0)


@dataclass(frozen=True)
class SlaveTask:
    """The slave's gains, and what it knows about link, payload and identification."""

    slave: Slave
    identify: IdentifyPayload
    identifies: bool
    outage_policy: str
    mass: float  # kg, of the payload, as the ground believes
    direction: tuple[float, ...]  # of the identification push, of any length
    start: tuple[float, ...]  # m, of the hand in W
    force_limit: float  # N


def _pack(p: np.record, task: SlaveTask, loop: Cycle) -> None:
    slave, section = task.slave, task.identify
    size = math.hypot(*task.direction)
    p.direction = [part / size for part in task.direction]
    if slave.force_feedback:
        p.K_f[:3], p.K_f[3:] = slave.compliance, slave.rotational_compliance
    p.K_c[:3], p.K_c[3:] = slave.coupling, slave.rotational_coupling
    p.D[:3], p.D[3:] = slave.damping, slave.rotational_damping
    p.policy = POLICIES[task.outage_policy]
    p.identify, p.feed_forward = task.identifies, slave.feed_forward
    p.mass = task.mass
    p.push_distance, p.push_time, p.push_rest = section.push_distance, section.push_time, section.push_rest
    p.push_end = section.push_end
    p.x0, p.force_limit = task.start, task.force_limit


@jit
def _reset(sig, x, p):
    vec.store(sig.offset, (0.0, 0.0, 0.0))


SLAVE = StageKind(
    "slave",
    slave_step,
    reads=(
        "t",
        "v_r_orbit",
        "w_r_orbit",
        "x_vir_orbit",
        "q_vir_orbit",
        "v_tvir_orbit",
        "f_vir_orbit",
        "m_vir_orbit",
        "link_silence",
        "link_state",
        "x_s",
        "q_s",
        "v_s",
        "w_s",
        "f_s",
        "tau_s",
        "m_hat",
        "m_var",
        "b_hat",
        "c_hat_payload",
        "pushed",
        "offset",
        "grip_open",
    ),
    writes=("v_sc", "w_sc", "link_state", "pushed", "offset", "fault", "fault_axis", "fault_value", "fault_limit"),
    state=record(v_before=6, v_out=6, v_ref=6, pull=6, since="f8", speed="f8", braked="f8", trust="f8"),
    params=record(
        force_limit="f8",
        K_f=6,
        K_c=6,
        D=6,
        policy="i8",
        identify="i8",
        feed_forward="i8",
        mass="f8",
        direction=3,
        x0=3,
        push_distance="f8",
        push_time="f8",
        push_rest="f8",
        push_end="f8",
    ),
    pack=_pack,
    reset=_reset,
)
