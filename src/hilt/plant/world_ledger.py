"""The world's side of the ledger: where the energy between the world and the tick comes from.

Over the tick from t - T to t the world delivers ½(F⁻ + F)·Δx on the true motion; the tick records F_meas⁻·Δx_des on the
commanded motion. The difference is split by cause: holding the wrench, the robot's response, the sensor.
"""

import numpy as np

from hilt.compiled import jit
from hilt.core import ledger
from hilt.core.signals import PORT, record
from hilt.core.stage import Cycle, StageKind
from hilt.dynamics.body import Body
from hilt.maths import so3, vec


@jit
def _com(pose, c_B):
    return vec.add(vec.load(pose.p), so3.rotate(so3.load(pose.q), vec.load(c_B)))


@jit
def world_ledger_step(sig, x, p, dt):
    # Motion of the body since the last tick (the command may lead it), and the wrench that the last tick used.
    body = vec.load(sig.X_WBcm_next.p), so3.load(sig.X_WBcm_next.q)
    book_world(sig, x, p, body, (vec.load(sig.F_Bcm_W.f), vec.load(sig.F_Bcm_W.tau)))


@jit
def book_world(sig, x, p, commanded_pose, used_wrench):
    """Record the world's side of a tick, given the commanded pose of the centre of mass and the wrench that the tick used."""
    p_true, q_true = _com(sig.X_WB_true, p.p_BoBcm_B), so3.load(sig.X_WB_true.q)
    p_des, q_des = commanded_pose
    f, tau = vec.load(sig.F_Bcm_true_W.f), vec.load(sig.F_Bcm_true_W.tau)
    if x.started:
        moved, turned = vec.sub(p_true, vec.load(x.p_true)), so3.between(so3.load(x.q_true), q_true)
        step, step_turn = vec.sub(p_des, vec.load(x.p_des)), so3.between(so3.load(x.q_des), q_des)
        f_held, tau_held = vec.load(x.f), vec.load(x.tau)
        f_mean, tau_mean = vec.scale(0.5, vec.add(f_held, f)), vec.scale(0.5, vec.add(tau_held, tau))
        f_error, tau_error = vec.sub(used_wrench[0], f_held), vec.sub(used_wrench[1], tau_held)
        ledger.book_wrench(x.environment, f_mean, tau_mean, moved, turned)
        ledger.book_wrench(x.sampling, vec.sub(f_held, f_mean), vec.sub(tau_held, tau_mean), moved, turned)
        ledger.book_wrench(x.delay, f_held, tau_held, vec.sub(step, moved), vec.sub(step_turn, turned))
        ledger.book_wrench(x.sensor, f_error, tau_error, step, step_turn)
    vec.store(x.p_true, p_true)
    so3.store(x.q_true, q_true)
    vec.store(x.p_des, p_des)
    so3.store(x.q_des, q_des)
    vec.store(x.f, f)
    vec.store(x.tau, tau)
    x.started = 1
    ledger.publish(sig.W_environment, x.environment)
    ledger.publish(sig.W_sampling, x.sampling)
    ledger.publish(sig.W_delay, x.delay)
    ledger.publish(sig.W_sensor, x.sensor)


def _pack(p: np.record, body: Body, loop: Cycle) -> None:
    p.p_BoBcm_B = body.centre_of_mass


WORLD_LEDGER = StageKind(
    "world-ledger",
    world_ledger_step,
    reads=("X_WB_true", "X_WBcm_next", "F_Bcm_true_W", "F_Bcm_W"),
    writes=("W_environment", "W_sampling", "W_delay", "W_sensor"),
    state=record(
        p_true=3,
        q_true=4,
        p_des=3,
        q_des=4,
        f=3,
        tau=3,
        started="i8",
        environment=PORT,
        sampling=PORT,
        delay=PORT,
        sensor=PORT,
    ),
    params=record(p_BoBcm_B=3),
    pack=_pack,
)
