"""Plots that a user of freefloat wants to see first."""

from hilt.scene.presets import Presets, axes

PRESETS: Presets = {
    "body": [
        ("wrench: force", "N", axes("F_Bcm_W.f", "f")),
        ("position along x", "m", {"X_WBcm.p.0": "body", "X_WB_cmd.p.0": "set-point", "X_WB_true.p.0": "robot"}),
        ("velocity of the body", "m/s", axes("V_WBcm.v", "v")),
        ("turning of the body", "rad/s", axes("V_WBcm.w", "ω")),
        ("kinetic energy", "J", {"H_all": "all", "H": "translation", "H_rot": "rotation"}),
        ("observed energy", "J", {**axes("E_obs", "controlled"), "E_obs_free.0": "uncontrolled x"}),
    ],
    "controller": [
        ("correction of the velocity", "m/s", axes("v_pc", "v_pc")),
        ("damping of the controller", "m/(s·N)", axes("beta", "β")),
        ("observed energy", "J", axes("E_obs", "E")),
        ("observed energy without controller", "J", axes("E_obs_free", "E")),
    ],
}
