"""What the slave arm follows while the link is alive, silent, or recovering.

When the link falls silent,
`hold`       keeps the last reference: the payload moves on forever,
`soft-stop`  (default) ramps the reference down in half a second, with the coupling released,
`freeze`     stops the reference at once and keeps the coupling to the last known position of the virtual arm,
`brake`      stops the payload with a force of 20 N that rises and falls smoothly, using the identified mass:
             c = v_ref + K_s m a - K_s f,  m a = -F_b, until v_ref is 0.

When packets arrive again the slave does not jump: it keeps the offset that has built up, and blends from its last reference
to the law over two seconds. The virtual arm takes over the offset when everything is at rest (virtual_arm.py).
"""

import math

from hilt.compiled import jit
from hilt.maths.quintic import quintic

ALIVE = 0
SILENT = 1
BACK = 2
HOLD, SOFT_STOP, FREEZE, BRAKE = range(4)
POLICIES = {"hold": HOLD, "soft-stop": SOFT_STOP, "freeze": FREEZE, "brake": BRAKE}
SILENCE = 0.05  # s beyond the play-out delay that counts as an outage
RAMP = 0.5  # s of a soft stop
BLEND = 2.0  # s of blending back to the law
BRAKE_FORCE = 20.0  # N
BRAKE_RISE = 0.4  # s in which the braking force rises and falls


@jit
def smooth(share):
    """The position along a quintic."""
    position, _ = quintic(share)
    return position


@jit
def watch_link(sig, x):
    """ALIVE -> SILENT when packets stop arriving, -> BACK when they arrive again, -> ALIVE when the blend is over."""
    silent = sig.link_silence > SILENCE
    if silent and sig.link_state != SILENT:
        sig.link_state = SILENT
        x.since = sig.t
        for i in range(6):
            x.v_ref[i] = x.v_out[i]
        x.speed = math.sqrt(x.v_ref[0] ** 2 + x.v_ref[1] ** 2 + x.v_ref[2] ** 2)
        x.braked = 0.0
    elif not silent and sig.link_state == SILENT:
        sig.link_state = BACK
        x.since = sig.t
        for i in range(6):
            x.v_ref[i] = x.v_out[i]
        for i in range(3):
            sig.offset[i] = sig.x_vir_orbit[i] - sig.x_s[i]
    elif sig.link_state == BACK and sig.t - x.since > BLEND:
        sig.link_state = ALIVE


@jit
def brake(sig, x, p, dt):
    """Remaining fraction of the speed, and fraction of the braking force that acts now; its integral is m v_ref."""
    if x.speed == 0.0:
        return 0.0, 0.0
    full = sig.m_hat * x.speed / BRAKE_FORCE  # s of full force
    passed = sig.t - x.since
    force = smooth(passed / BRAKE_RISE) - smooth((passed - full) / BRAKE_RISE)
    left = max(0.0, 1.0 - x.braked)
    x.braked += dt * force / full
    return left, force * BRAKE_FORCE * p.K_f[0] / x.speed


@jit
def follow(sig, x, p, law, i, left, force):
    """Axis i of the arm's motion without force: the law, or what remains of it in this state of the link."""
    if sig.link_state == ALIVE:
        return law
    passed = sig.t - x.since
    if sig.link_state == BACK:
        g = smooth(passed / BLEND)
        return (1.0 - g) * x.v_ref[i] + g * law
    if p.policy == HOLD:
        return x.v_ref[i]
    if p.policy == SOFT_STOP:
        return x.v_ref[i] * (1.0 - smooth(passed / RAMP))
    if p.policy == FREEZE:
        return x.pull[i]
    return x.v_ref[i] * (left - force)
