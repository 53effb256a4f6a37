"""The slave arm's law on orbit: follow the reference, give way to the force, stay near the virtual arm.

    v_c = v_r(t - d) - K_s f_s + K_c (x_vir(t - d) - x_s) - D (v_s(t - T) - v_s(t - 2T))        (2), (3)

When the link falls silent, `hold` keeps the last reference (the payload goes on for ever), `freeze` stops the reference at
once and keeps the coupling to where the virtual arm was last seen, and `soft-stop` (default) ramps the reference down in half a
second with the coupling released. When packets come again the slave does not jump: it keeps the offset that has grown, and
blends from its last reference to the law over two seconds.
"""

import math

from pydantic import Field

from hilt.compiled import jit
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.teleop.identify import push_reference
from hilt.units import Number

ALIVE = 0
SILENT = 1
BACK = 2
POLICIES = {"hold": 0, "soft-stop": 1, "freeze": 2}
SILENCE = 0.05  # s beyond the play-out delay that count as an outage
RAMP = 0.5  # s of a soft stop
BLEND = 2.0  # s of coming back
PUSH_GAIN = 0.3  # 1/s, back to the way of the identification push


class Slave(Section):
    """Gains of the slave arm; the defaults are the paper's Table 2."""

    force_feedback: bool = True
    compliance: Number = Field(default=1.0 / 1400.0, gt=0, description="K_s, m/(s·N)")
    coupling: Number = Field(default=0.08, ge=0, description="K_c, 1/s (K_V of Table 2)")
    damping: Number = Field(default=0.3, ge=0, description="D")


@jit
def _smooth(share):
    """From 0 to 1 with no step in speed or acceleration."""
    share = min(max(share, 0.0), 1.0)
    return share * share * share * (10.0 - share * (15.0 - 6.0 * share))


@jit
def _watch_link(sig, x, p):
    """ALIVE -> SILENT when packets stay out, -> BACK when they come again, -> ALIVE when the blend is over."""
    silent = sig.link_silence > SILENCE
    if silent and sig.link_state != SILENT:
        sig.link_state = SILENT
        x.since = sig.t
        for i in range(3):
            x.v_ref[i] = x.v_last[i]
    elif not silent and sig.link_state == SILENT:
        sig.link_state = BACK
        x.since = sig.t
        for i in range(3):
            x.v_ref[i] = x.v_last[i]
            x.offset[i] = sig.x_vir_orbit[i] - sig.x_s[i]
    elif sig.link_state == BACK and sig.t - x.since > BLEND:
        sig.link_state = ALIVE


@jit
def _reference(sig, x, p, i):
    """What the arm would do without force: reference and coupling, as the state of the link allows."""
    pull = p.K_c * (sig.x_vir_orbit[i] - sig.x_s[i] - x.offset[i])
    if sig.link_state == ALIVE:
        return sig.v_r_orbit[i] + pull
    passed = sig.t - x.since
    if sig.link_state == BACK:
        g = _smooth(passed / BLEND)
        return (1.0 - g) * x.v_ref[i] + g * (sig.v_r_orbit[i] + pull)
    if p.policy == 0:
        return x.v_ref[i]
    if p.policy == 1:
        return x.v_ref[i] * (1.0 - _smooth(passed / RAMP))
    return pull


@jit
def _push(sig, x, p, dt):
    """The identification push: a little out and back, with the force that the believed mass needs."""
    x_d, v_d, a_d = push_reference(sig.t, p)
    done = 0.0
    for i in range(3):
        done += p.direction[i] * (sig.x_s[i] - p.x0[i])
    speed = v_d + p.K_f * p.mass * a_d + PUSH_GAIN * (x_d - done)
    for i in range(3):
        x.v_last[i] = speed * p.direction[i]


@jit
def _report(sig, p):
    """What the ground needs to know after the push; it arrives there one delay later."""
    sig.m_sent, sig.k_sent = sig.m_hat, sig.k_grip_hat
    for i in range(3):
        sig.x_sent[i] = sig.x_s[i]


@jit
def slave_step(sig, x, p, dt):
    _watch_link(sig, x, p)
    pushing = p.identify and sig.t < p.push_end
    if pushing:
        _push(sig, x, p, dt)
    elif p.identify and sig.m_sent == 0.0:
        _report(sig, p)
    bias = sig.b_hat if p.identify else 0.0
    for i in range(3):
        if not pushing:
            x.v_last[i] = _reference(sig, x, p, i)
        damping = p.D * (sig.v_s[i] - x.v_before[i])
        x.v_before[i] = sig.v_s[i]
        sig.v_sc[i] = x.v_last[i] - p.K_f * (sig.f_s[i] - bias * p.direction[i]) - damping  # [Yang2018, eq. 2]


def _pack(p, scenario):
    slave, told = scenario.slave, scenario.identify
    size = math.hypot(*scenario.operator.direction)
    p.direction = [part / size for part in scenario.operator.direction]
    p.K_f = slave.compliance if slave.force_feedback else 0.0
    p.K_c, p.D = slave.coupling, slave.damping
    p.policy = POLICIES[scenario.link.outage_policy]
    p.identify = scenario.virtual.identify
    p.mass = scenario.virtual.mass_ratio * scenario.payload.mass
    p.push_distance, p.push_time, p.push_rest = told.push_distance, told.push_time, told.push_rest
    p.push_end = told.push_end
    p.x0 = scenario.start_of_grip


SLAVE = StageKind(
    "slave",
    slave_step,
    reads=(
        "t", "v_r_orbit", "x_vir_orbit", "link_silence", "link_state", "x_s", "v_s", "f_s", "m_hat", "b_hat", "k_grip_hat",
        "m_sent", "k_sent", "x_sent",
    ),
    writes=("v_sc", "link_state", "m_sent", "k_sent", "x_sent"),
    state=record(v_before=3, v_last=3, v_ref=3, offset=3, since="f8"),
    params=record(
        K_f="f8", K_c="f8", D="f8", policy="i8", identify="i8", mass="f8", direction=3, x0=3, push_distance="f8",
        push_time="f8", push_rest="f8", push_end="f8",
    ),
    pack=_pack,
)  # fmt: skip
