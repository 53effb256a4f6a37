"""What a lab knows of a docking contact: what its sensor measures."""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import so3, vec
from hilt.systems.docking.contact import CONTACT, count_collision
from hilt.systems.docking.contact_sense import CONTACT_SENSE


@jit
def contact_observed_step(sig, x, p, dt):
    """Force on the target and collisions, by the sensor."""
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


def _pack(p, scenario):
    CONTACT.pack(p.contact, scenario)
    CONTACT_SENSE.pack(p.sense, scenario)


CONTACT_OBSERVED = StageKind(
    "contact-observed",
    contact_observed_step,
    reads=("F_So_S", "X_WB_true", "collision", "done"),
    writes=CONTACT.writes,
    state=CONTACT.state,
    params=record(contact=CONTACT.params, sense=CONTACT_SENSE.params),
    pack=_pack,
)
