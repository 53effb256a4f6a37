"""The command of the methods that compensate the force: the robot follows the pose of the simulated body."""

from hilt.compiled import jit
from hilt.core.stage import StageKind
from hilt.maths import so3, vec


@jit
def command_the_body(sig):
    vec.store(sig.X_WB_cmd.p, vec.load(sig.X_WB_sim.p))
    so3.store(sig.X_WB_cmd.q, so3.load(sig.X_WB_sim.q))
    vec.store(sig.V_WB_cmd.v, vec.load(sig.V_WB_sim.v))
    vec.store(sig.V_WB_cmd.w, vec.load(sig.V_WB_sim.w))


@jit
def as_simulated_step(sig, x, p, dt):
    command_the_body(sig)


@jit
def _reset(sig, x, p):
    command_the_body(sig)


AS_SIMULATED = StageKind(
    "as-simulated",
    as_simulated_step,
    reads=("X_WB_sim", "V_WB_sim"),
    writes=("X_WB_cmd", "V_WB_cmd"),
    reset=_reset,
)
