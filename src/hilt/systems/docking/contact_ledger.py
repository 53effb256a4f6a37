"""The plant side of the energy ledger of a contact: force on the target, motion of the tip relative to it.

The bodies gain -F·Δx. Over the tick from t - T to t the world delivers -½(F⁻ + F)·Δx on the true motion; the tick records
-F̂⁻·Δx_des. The difference is split by cause: holding the force, the robot's response, the sensor, the compensation and the
energy controller; the last two are taken from the signals of the last tick.
"""

from dataclasses import dataclass

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.maths import so3, vec


@jit
def contact_ledger_step(sig, x, p, dt):
    tip = vec.load(p.tip_B)
    if p.rotates:
        tip = so3.rotate(so3.load(sig.X_WB_cmd.q), tip)
    des, true = vec.add(vec.load(sig.X_WB_cmd.p), tip), vec.load(sig.p_C_true_W)
    f, held = vec.load(sig.F_C_true_W), vec.load(x.f)
    mea, comp, alpha = vec.load(sig.F_mea_W), vec.load(sig.F_comp_W), vec.load(sig.F_alpha_W)
    if x.started:
        moved, asked = vec.sub(true, vec.load(x.true)), vec.sub(des, vec.load(x.des))
        mean = vec.scale(0.5, vec.add(held, f))
        ledger.book(x.environment, -vec.dot(mean, moved), 1.0, 1.0)
        ledger.book(x.sampling, -vec.dot(vec.sub(held, mean), moved), 1.0, 1.0)
        ledger.book(x.delay, -vec.dot(held, vec.sub(asked, moved)), 1.0, 1.0)
        ledger.book(x.sensor, -vec.dot(vec.sub(mea, held), asked), 1.0, 1.0)
        ledger.book(x.compensation, -vec.dot(vec.sub(comp, mea), asked), 1.0, 1.0)
        ledger.book(x.controller, -vec.dot(alpha, asked), 1.0, 1.0)
    vec.store(x.true, true)
    vec.store(x.des, des)
    vec.store(x.f, f)
    x.started = 1
    ledger.publish(sig.W_environment, x.environment)
    ledger.publish(sig.W_sampling, x.sampling)
    ledger.publish(sig.W_delay, x.delay)
    ledger.publish(sig.W_sensor, x.sensor)
    ledger.publish(sig.W_compensation, x.compensation)
    ledger.publish(sig.W_controller, x.controller)


@dataclass(frozen=True)
class Tip:
    """The rod's tip, whose motion is used to compute the work."""

    position: tuple[float, ...]  # m, in the frame that the robot moves
    rotates: bool


def _pack(p: np.record, tip: Tip, loop: Cycle) -> None:
    p.tip_B, p.rotates = tip.position, tip.rotates


CONTACT_LEDGER = StageKind(
    "contact-ledger",
    contact_ledger_step,
    reads=("X_WB_cmd", "p_C_true_W", "F_C_true_W", "F_mea_W", "F_comp_W", "F_alpha_W"),
    writes=("W_environment", "W_sampling", "W_delay", "W_sensor", "W_compensation", "W_controller"),
    state=record(
        true=3,
        des=3,
        f=3,
        started="i8",
        environment=PORT,
        sampling=PORT,
        delay=PORT,
        sensor=PORT,
        compensation=PORT,
        controller=PORT,
    ),
    params=record(tip_B=3, rotates="i8"),
    pack=_pack,
)
