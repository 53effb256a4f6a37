"""What the controller knows about a contact: tip of the rod, force, whether there is contact, and its direction.

    p_C = p + R r        v_C = v + ω × R r                                   (3), (4); for the simulated rod (25), (26)
    F_act = F_mea + τ_p dF_mea/dt                                            (6)
    contact begins at |F| > F_th and ends at |F| < F_th/2;  e = F_mea/|F_mea|

Eq. 6 is printed with swapped sides, F_mea = F_act + …, which would add lag. The derivative is low-passed if the sensor
is noisy. Assuming too long a delay is dangerous, too short a delay is safe.
"""

import math
from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec


@jit
def force_in_W(sig, p):
    """The sensor's reading in W; in one degree of freedom only its component along x."""
    f = vec.load(sig.F_So_filt_S.f)
    return so3.rotate(so3.load(p.q_WS), f) if p.rotates else (f[0], 0.0, 0.0)


@jit
def contact_sense_step(sig, x, p, dt):
    tip, tip_des = vec.load(p.tip_B), vec.load(p.tip_B)
    v, v_des = vec.load(sig.V_WB_meas.v), vec.load(sig.V_WB_sim.v)
    if p.rotates:
        tip = so3.rotate(so3.load(sig.X_WB_meas.q), tip)
        tip_des = so3.rotate(so3.load(sig.X_WB_sim.q), tip_des)
        v = vec.add(v, vec.cross(vec.load(sig.V_WB_meas.w), tip))  # [He2022, eq. 4]
        v_des = vec.add(v_des, vec.cross(vec.load(sig.V_WB_sim.w), tip_des))  # [He2022, eq. 26]
    vec.store(sig.p_C_W, vec.add(vec.load(sig.X_WB_meas.p), tip))  # [He2022, eq. 3]
    vec.store(sig.v_C_W, v)
    vec.store(sig.p_C_des_W, vec.add(vec.load(sig.X_WB_sim.p), tip_des))  # [He2022, eq. 25]
    vec.store(sig.v_C_des_W, v_des)

    f = force_in_W(sig, p)
    slope = vec.scale(1.0 / dt, vec.sub(f, vec.load(x.f))) if x.started else (0.0, 0.0, 0.0)
    slope = vec.add(vec.load(x.slope), vec.scale(p.share, vec.sub(slope, vec.load(x.slope))))
    vec.store(sig.F_mea_W, vec.sub(f, vec.load(sig.F_bias_W)))
    vec.store(sig.F_act_W, vec.add(f, vec.scale(p.sensor_delay, slope)))  # [He2022, eq. 6], with the sides swapped
    vec.store(x.f, f)
    vec.store(x.slope, slope)
    x.started = 1

    size = math.sqrt(vec.dot(f, f))
    sig.in_contact = 1 if size > (0.5 if sig.in_contact else 1.0) * p.threshold else 0
    vec.store(sig.e_W, vec.scale(1.0 / size, f) if sig.in_contact else (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class ContactSensing:
    """Positions of the rod's tip and the sensor, and what the controller assumes about the sensor."""

    tip: tuple[float, ...]  # m, in the frame that the robot moves
    attitude: tuple[float, ...]  # of the sensor in W, w x y z
    rotates: bool
    threshold: float  # N, above which a force is a contact
    sensor_delay: float  # s
    lead_filter: float  # s, time constant of the force's derivative


def _pack(p: np.record, sensing: ContactSensing, loop: Cycle) -> None:
    p.tip_B, p.q_WS, p.rotates = sensing.tip, sensing.attitude, sensing.rotates
    p.threshold, p.sensor_delay = sensing.threshold, sensing.sensor_delay
    p.share = loop.period / (sensing.lead_filter + loop.period)


CONTACT_SENSE = StageKind(
    "contact-sense",
    contact_sense_step,
    reads=("X_WB_meas", "V_WB_meas", "X_WB_sim", "V_WB_sim", "F_So_filt_S", "F_bias_W", "in_contact"),
    writes=("p_C_W", "v_C_W", "p_C_des_W", "v_C_des_W", "F_mea_W", "F_act_W", "in_contact", "e_W"),
    state=record(f=3, slope=3, started="i8"),
    params=record(tip_B=3, q_WS=4, rotates="i8", threshold="f8", sensor_delay="f8", share="f8"),
    pack=_pack,
)
