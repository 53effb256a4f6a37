"""What a lab knows of the truth: what it measures. The books and counts that the simulated world keeps go on from there."""

from hilt.compiled import jit
from hilt.maths import so3, vec


@jit
def motion_observed(sig):
    """The mock-up is where the encoders say."""
    vec.store(sig.X_WB_true.p, vec.load(sig.X_WB_meas.p))
    so3.store(sig.X_WB_true.q, so3.load(sig.X_WB_meas.q))
    vec.store(sig.V_WB_true.v, vec.load(sig.V_WB_meas.v))
    vec.store(sig.V_WB_true.w, vec.load(sig.V_WB_meas.w))


@jit
def wrench_observed(sig, p):
    """The wrench at the centre of mass is what a sensor that moves with the mock-up feels; p: parameters of that sensor."""
    q_WB = so3.load(sig.X_WB_true.q)
    q_WS = so3.multiply(q_WB, so3.load(p.q_BS))
    f = so3.rotate(q_WS, vec.load(sig.F_So_S.f))
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmSo_B))
    vec.store(sig.F_Bcm_true_W.f, f)
    vec.store(sig.F_Bcm_true_W.tau, vec.add(so3.rotate(q_WS, vec.load(sig.F_So_S.tau)), vec.cross(arm_W, f)))
