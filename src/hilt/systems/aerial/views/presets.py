"""Plots that a user of aerial wants to see first."""

from hilt.scene.presets import Presets, axes

PRESETS: Presets = {
    "human": [
        ("force of the human on the tool", "N", axes("F_h_H.f", "f")),
        ("torque of the human on the tool", "N·m", axes("F_h_H.tau", "τ")),
        ("base: distance from its plan", "m", axes("e_p_N", "e")),
        ("energy", "J", {"E_tank": "tank", "E_arm": "arm", "E_hw": "hardware's tool", "E_audit": "audit"}),
        ("yielding of the arm", "m", axes("z_arm", "z")),
        ("stiffness of the arm", "N/m", {"K_arm_des.0": "desired", "K_arm.0": "allowed"}),
    ],
    "flight": [
        ("position of the base", "m", axes("X_Nb_meas.p", "p")),
        ("estimated force on the vehicle", "N", axes("f_hat_N", "f̂")),
        ("thrust", "N", {"u_T": "wanted", "u_T_acting": "acting"}),
        ("speed of the rotors", "rad/s", axes("rotor_speed_acting", "rotor", "1234")),
        ("joints of the flying arm", "rad", axes("q_uam", "q", "123456")),
    ],
}
