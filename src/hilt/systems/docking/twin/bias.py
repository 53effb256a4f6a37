"""Step 0: take the sensor's reading in free flight as its bias, and detect whether a sample is new.

    b += (F - b)/min(i, N) in flight, well away from both frames;      later steps use F - b

The rod starts in free flight, so the first samples always count; later ones that look like a touch do not. A sample that
repeats the last one in every axis was lost: steps 1 to 3 then use the twin's force instead.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import vec
from hilt.systems.docking.contact_sense import force_in_W
from hilt.systems.docking.twin.beliefs import TwinBeliefs

AWAY = 2e-3  # m from the actual or expected position of a frame
FIRST, WINDOW = 0.05, 0.5  # s


@jit
def _in_flight(sig):
    """Whether both the simulated and the real tip are away from the frames."""
    for i in range(2):
        if abs(sig.x_twin - sig.frame_s[i]) < AWAY or abs(sig.x_late - sig.frame_s[i]) < AWAY:
            return False
    return sig.touch == 0


@jit
def bias_step(sig, x, p, dt):
    raw, last, bias = force_in_W(sig, p), vec.load(x.last), vec.load(x.bias)
    sig.fresh = 0 if x.count > 0 and raw[0] == last[0] and raw[1] == last[1] and raw[2] == last[2] else 1
    vec.store(x.last, raw)
    off = vec.sub(raw, bias)
    square = vec.dot(off, off)
    if sig.fresh and _in_flight(sig) and square < 1e300 and (x.count * dt < FIRST or square < p.threshold * p.threshold):
        x.count += 1
        bias = vec.add(bias, vec.scale(1.0 / min(float(x.count), max(WINDOW / dt, 1.0)), off))
        vec.store(x.bias, bias)
    vec.store(sig.F_bias_W, bias)


def _pack(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    p.threshold = beliefs.threshold
    p.q_WS, p.rotates = beliefs.sensor_attitude, beliefs.rotates


TWIN_BIAS = StageKind(
    "twin-bias",
    bias_step,
    reads=("F_So_filt_S", "touch", "x_twin", "x_late", "frame_s"),
    writes=("F_bias_W", "fresh"),
    state=record(last=3, bias=3, count="i8"),
    params=record(threshold="f8", q_WS=4, rotates="i8"),
    pack=_pack,
)
