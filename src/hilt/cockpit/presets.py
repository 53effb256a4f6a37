"""Plots that an engineer of each system wants to see first."""

from typing import Any

Plot = tuple[str, str, dict[str, str]]  # title, unit, signal -> label


def _axes(name: str, label: str, letters: str = "xyz") -> dict[str, str]:
    return {f"{name}.{i}": f"{label} {letter}" for i, letter in enumerate(letters)}


PRESETS: dict[str, dict[str, list[Plot]]] = {
    "docking": {
        "contact": [
            ("contact force along x", "N", {"F_C_true_W.0": "ideal", "F_mea_W.0": "measured", "F_hat_W.0": "compensated"}),
            ("tip position", "m", {"p_C_des_W.0": "simulated", "p_C_W.0": "robot", "p_C_true_W.0": "true"}),
            ("tip velocity", "m/s", {"v_C_des_W.0": "simulated", "v_C_W.0": "robot"}),
            ("energy", "J", {"H": "of the bodies", "E_contact": "in the contact"}),
            ("identified stiffness", "N/m", {"k_hat": "k̂"}),
            ("identified damping", "N·s/m", {"c_hat": "ĉ"}),
        ],
        "three axes": [
            ("measured force", "N", _axes("F_mea_W", "f")),
            ("compensated force", "N", _axes("F_hat_W", "f")),
            ("tip position", "m", _axes("p_C_W", "p")),
            ("turning of the servicer", "rad/s", _axes("V_NA.w", "ω")),
            ("turning of the target", "rad/s", _axes("V_NB.w", "ω")),
        ],
    },
    "freefloat": {
        "body": [
            ("wrench: force", "N", _axes("F_Bcm_W.f", "f")),
            ("position along x", "m", {"X_WBcm.p.0": "body", "X_WB_cmd.p.0": "set-point", "X_WB_true.p.0": "robot"}),
            ("velocity of the body", "m/s", _axes("V_WBcm.v", "v")),
            ("turning of the body", "rad/s", _axes("V_WBcm.w", "ω")),
            ("kinetic energy", "J", {"H": "translation", "H_rot": "rotation"}),
            ("observed energy", "J", {**_axes("E_obs", "controlled"), "E_obs_free.0": "uncontrolled x"}),
        ],
        "controller": [
            ("velocity taken off", "m/s", _axes("v_pc", "v_pc")),
            ("damping of the controller", "m/(s·N)", _axes("beta", "β")),
            ("observed energy", "J", _axes("E_obs", "E")),
            ("observed energy without controller", "J", _axes("E_obs_free", "E")),
        ],
    },
    "payload": {
        "operator": [
            ("velocity along x", "m/s", {"v_r.0": "operator", "v_vir.0": "virtual arm", "v_s.0": "slave arm"}),
            ("position along x, by the time on orbit", "m", {"x_vir_orbit.0": "virtual, delayed", "x_s.0": "slave"}),
            ("position along x, by the time on the ground", "m", {"x_vir.0": "virtual", "x_s_ground.0": "slave, as reported"}),
            ("force along x", "N", {"f_vir.0": "virtual arm", "f_s.0": "slave arm", "f_vir_orbit.0": "virtual, delayed"}),
            ("mass", "kg", {"m_hat": "identified on orbit", "m_vir": "virtual payload"}),
            ("link: age of the newest packet", "s", {"link_age": "on orbit", "down_age": "on the ground"}),
        ],
        "three axes": [
            ("velocity the operator asks for", "m/s", _axes("v_r", "v_r")),
            ("velocity of the virtual arm", "m/s", _axes("v_vir", "v_vir")),
            ("velocity of the slave arm", "m/s", _axes("v_s", "v_s")),
            ("force of the slave arm", "N", _axes("f_s", "f_s")),
            ("turning of the slave hand", "rad/s", _axes("w_s", "ω_s")),
        ],
        "master device": [
            ("position along x", "m", {"x_m.0": "master", "x_s.0": "slave"}),
            ("force along x", "N", {"f_hand.0": "hand", "f_mc.0": "master's motors", "f_s.0": "slave arm"}),
            ("energy of the link", "J", {"W_master.into": "into, ground", "W_slave.out": "out, orbit"}),
            ("energy guard", "1", {"master_guard": "master", "slave_guard": "slave"}),
        ],
    },
    "aerial": {
        "human": [
            ("force of the human on the tool", "N", _axes("F_h_H.f", "f")),
            ("torque of the human on the tool", "N·m", _axes("F_h_H.tau", "τ")),
            ("base: distance from its plan", "m", _axes("e_p_W", "e")),
            ("energy", "J", {"E_tank": "tank", "E_arm": "arm", "E_hw": "hardware's tool", "E_audit": "audit"}),
            ("arm gives way", "m", _axes("z_arm", "z")),
            ("stiffness of the arm", "N/m", {"K_arm_des.0": "wanted", "K_arm.0": "allowed"}),
        ],
        "flight": [
            ("place of the base", "m", _axes("X_Wb_meas.p", "p")),
            ("estimated force on the vehicle", "N", _axes("f_hat_W", "f̂")),
            ("thrust", "N", {"u_T": "wanted", "u_T_acting": "acting"}),
            ("speed of the rotors", "rad/s", _axes("rotor_speed_acting", "rotor", "1234")),
            ("joints of the flying arm", "rad", _axes("q_uam", "q", "123456")),
        ],
    },
}  # fmt: skip


def of(systems: list[str], prefixes: list[str], labels: list[str]) -> list[dict[str, Any]]:
    """The presets of a system; of several recordings of one system each signal of all of them, side by side."""
    if len(set(systems)) > 1 or systems[0] not in PRESETS:
        return []
    alone = len(prefixes) == 1
    found = []
    for name, plots in PRESETS[systems[0]].items():
        shown = []
        for title, unit, signals in plots:
            each = [(prefix, label, leaf) for leaf in signals for prefix, label in zip(prefixes, labels, strict=True)]
            names = [prefix + leaf for prefix, _, leaf in each]
            words = [signals[leaf] if alone else f"{signals[leaf]} · {label}" for _, label, leaf in each]
            shown.append({"title": title, "unit": unit, "signals": names, "labels": words})
        found.append({"name": name, "plots": shown})
    return found
