"""Plots that a docking engineer wants to see first."""

from hilt.scene.presets import Presets, axes

PRESETS: Presets = {
    "contact": [
        ("contact force along x", "N", {"F_C_true_W.0": "ideal", "F_mea_W.0": "measured", "F_hat_W.0": "compensated"}),
        ("tip position", "m", {"p_C_des_W.0": "simulated", "p_C_W.0": "robot", "p_C_true_W.0": "true"}),
        ("tip velocity", "m/s", {"v_C_des_W.0": "simulated", "v_C_W.0": "robot"}),
        ("energy", "J", {"H_all": "of the bodies", "E_contact": "in the contact"}),
        ("identified stiffness", "N/m", {"k_hat": "k̂"}),
        ("identified damping", "N·s/m", {"c_hat": "ĉ"}),
    ],
    "three axes": [
        ("measured force", "N", axes("F_mea_W", "f")),
        ("compensated force", "N", axes("F_hat_W", "f")),
        ("tip position", "m", axes("p_C_W", "p")),
        ("turning of the servicer", "rad/s", axes("V_NA.w", "ω")),
        ("turning of the target", "rad/s", axes("V_NT.w", "ω")),
    ],
}
