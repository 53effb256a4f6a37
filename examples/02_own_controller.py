"""A stage of one's own: a damper on the measured wrench, tried out in the loop that also drives the robot.

The tick below is freefloat's with one more block. It lives at module level, so that the compiler can cache it.
"""

import dataclasses

from hilt import job
from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import vec
from hilt.systems.freefloat import freefloat
from hilt.systems.freefloat.freefloat import FREEFLOAT, plant


@jit
def damper_step(sig, x, p, dt):
    """F -= c v in contact: takes off the energy that the delay makes, and a little more."""
    f = vec.load(sig.F_Bcm_W.f)
    if vec.dot(f, f) > p.threshold * p.threshold:
        vec.store(sig.F_Bcm_W.f, vec.sub(f, vec.scale(p.c, vec.load(sig.v_c))))


def pack(p, scenario):
    p.c, p.threshold = 150.0, 0.5  # N·s/m, N


DAMPER = StageKind(
    "damper", damper_step, reads=("F_Bcm_W", "v_c"), writes=("F_Bcm_W",), params=record(c="f8", threshold="f8"), pack=pack
)


@jit
def tick(row, x, p):
    sig, x, p = row[0], x[0], p[0]
    freefloat.wrench_at_com_step(sig, x.wrench, p.wrench, p.dt)
    damper_step(sig, x.damper, p.damper, p.dt)
    freefloat.translation_step(sig, x.translation, p.translation, p.dt)
    freefloat.rotation_step(sig, x.rotation, p.rotation, p.dt)
    freefloat.setpoint_step(sig, x.setpoint, p.setpoint, p.dt)
    freefloat.guard_step(sig, x.guard, p.guard, p.dt)


@jit
def batch(row, x, w, p, log):
    for k in range(len(log)):
        row[0].tick, row[0].t = k, k * p[0].dt
        plant(row, w, p)
        tick(row, x, p)
        log[k] = row[0]
        if row[0].fault or row[0].done:
            return k + 1
    return len(log)


stages = {"wrench": FREEFLOAT.tick_stages["wrench"], "damper": DAMPER, **FREEFLOAT.tick_stages}
damped = dataclasses.replace(FREEFLOAT, name="damped", tick_stages=stages, tick=tick, batch=batch)
for name, system in (("without", FREEFLOAT), ("with", damped)):
    _, values, _ = job.find("freefloat", "wall", [])
    gains = job.simulate(system, values).metrics["rebound_gain"]
    print(f"{name:8s} damper: " + "  ".join(f"{gain:.3f}" for gain in gains))
