"""A method of your own: a damper against the energy that the robot's delay makes.

A spring k that is felt τ late pushes with k x(t - τ) ≈ k x - k τ v: it drives the motion like a damping of -k τ. The method
restores that damping while the bodies touch. As a plugin it is available to every command:

    HILT_PLUGINS=02_own_method.py hilt compare docking --over compensate.method=pida,damper
"""

import hilt
from hilt.maths import vec


def pack(p, scenario, loop):
    p.c = scenario.contact.stiffness * scenario.robot.delay  # N·s/m, as the controller believes them


@hilt.method(
    "docking",
    reads=("in_contact", "F_mea_W", "v_C_des_W"),
    writes=("F_comp_W", "F_hat_W"),
    params={"c": "f8"},
    pack=pack,
)
def damper(sig, x, p, dt):
    """F̂ = F + c v while in contact: F is the force of the rod on the frame, v its velocity relative to it."""
    force = vec.load(sig.F_mea_W)
    if sig.in_contact:
        force = vec.add(force, vec.scale(p.c, vec.load(sig.v_C_des_W)))
    vec.store(sig.F_comp_W, force)
    vec.store(sig.F_hat_W, force)


if __name__ == "__main__":
    print("speed after each contact over the ideal")
    over = {"compensate.method": ["none", "damper", "pida"]}
    for method, run in hilt.compare("docking", "table1", {"robot.delay": "4 ms"}, over=over).items():
        print(f"{method:8s}", *(f"{cov:.3f}" for cov in run.metrics["cov"]))
