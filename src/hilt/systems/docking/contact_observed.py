"""What a lab knows of a docking contact: what its sensor measures."""

from hilt.compiled import jit
from hilt.maths import so3, vec
from hilt.systems.docking.contact import count_collision


@jit
def contact_observed(sig, x, p, sense):
    """Force on the target and collisions, by the sensor; p and sense: parameters of contact and of its sensing."""
    f = vec.load(sig.F_So_S.f)
    tip = vec.load(p.tip_B)
    if p.rotates:
        f = so3.rotate(so3.load(sense.q_WS), f)
        tip = so3.rotate(so3.load(sig.X_WB_true.q), tip)
    else:
        f = (f[0], 0.0, 0.0)
    at, n = vec.add(vec.load(sig.X_WB_true.p), tip), vec.load(p.n_W)
    along, push = vec.dot(n, at) - p.middle, vec.dot(n, f)
    side = 0
    if abs(push) > sense.threshold:
        side = 1 if push > 0.0 else -1
    vec.store(sig.F_C_true_W, f)
    vec.store(sig.p_C_true_W, at)
    sig.penetration = max(0.0, abs(along) - p.free)
    count_collision(sig, x, p, side, along)
