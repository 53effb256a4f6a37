"""A block of one's own in the loop that also drives the robot: a damper against the energy that the robot's delay makes.

A spring k that is felt τ late pushes with k x(t - τ) ≈ k x - k τ v, so it feeds the motion like a damping of -k τ. The block
gives that damping back while the bodies touch.
"""

from hilt import job
from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.maths import vec
from hilt.systems.docking.docking import DOCKING


@jit
def damper_step(sig, x, p, dt):
    """F̂ += c v: F̂ is the force of the rod on the frame, v its velocity against it."""
    if sig.in_contact:
        vec.store(sig.F_hat_W, vec.add(vec.load(sig.F_hat_W), vec.scale(p.c, vec.load(sig.v_C_des_W))))


def pack(p, *_):
    p.c = 176.275e3 * 0.004  # N·s/m: k τ of the scenario below


DAMPER = StageKind(
    "damper", damper_step, ("in_contact", "v_C_des_W", "F_hat_W"), ("F_hat_W",), params=record(c="f8"), pack=pack
)

_, values, _ = job.find("docking", "table1", ["compensate.method=none", "robot.delay=4 ms"])
print("speed after each contact over the ideal")
for name, system in (("alone", DOCKING), ("damped", DOCKING.with_block(DAMPER, after="compensate"))):
    print(f"{name:8s}", *(f"{cov:.3f}" for cov in job.simulate(system, values).metrics["cov"]))
