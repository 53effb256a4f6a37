"""The contact on real devices, where only the sensor observes it."""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.contact import CONTACT, Meeting, count_collision
from hilt.systems.docking.contact_sense import CONTACT_SENSE, ContactSensing


@jit
def contact_observed_step(sig, x, p, dt):
    """Force on the target and collisions, from the sensor."""
    contact, sense = p.contact, p.sense
    f = vec.load(sig.F_So_S.f)
    tip = vec.load(contact.tip_B)
    if contact.rotates:
        f = so3.rotate(so3.load(sense.q_WS), f)
        tip = so3.rotate(so3.load(sig.X_WB_true.q), tip)
    else:
        f = (f[0], 0.0, 0.0)
    at, n = vec.add(vec.load(sig.X_WB_true.p), tip), vec.load(contact.n_W)
    along, push = vec.dot(n, at) - contact.middle, vec.dot(n, f)
    side = 0
    if abs(push) > sense.threshold:
        side = 1 if push > 0.0 else -1
    vec.store(sig.F_C_true_W, f)
    vec.store(sig.p_C_true_W, at)
    sig.penetration = max(0.0, abs(along) - contact.free)
    count_collision(sig, x, contact, side, along)


@dataclass(frozen=True)
class ObservedMeeting:
    """Contact and sensing settings for devices, where only the sensor observes the contact."""

    meeting: Meeting
    sensing: ContactSensing


def _pack(p: np.record, observed: ObservedMeeting, loop: Cycle) -> None:
    CONTACT.pack(p.contact, observed.meeting, loop)
    CONTACT_SENSE.pack(p.sense, observed.sensing, loop)


CONTACT_OBSERVED = StageKind(
    "contact-observed",
    contact_observed_step,
    reads=("F_So_S", "X_WB_true", "collision", "done"),
    writes=CONTACT.writes,
    state=CONTACT.state,
    params=record(contact=CONTACT.params, sense=CONTACT_SENSE.params),
    pack=_pack,
)
