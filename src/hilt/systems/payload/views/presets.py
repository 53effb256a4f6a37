"""Plots that a user of payload wants to see first."""

from hilt.scene.presets import Presets, axes

PRESETS: Presets = {
    "operator": [
        ("velocity along x", "m/s", {"v_r.0": "operator", "v_vir.0": "virtual arm", "v_s.0": "slave arm"}),
        ("position along x, in orbit time", "m", {"x_vir_orbit.0": "virtual, delayed", "x_s.0": "slave"}),
        ("position along x, in ground time", "m", {"x_vir.0": "virtual", "x_s_ground.0": "slave, as reported"}),
        ("force along x", "N", {"f_vir.0": "virtual arm", "f_s.0": "slave arm", "f_vir_orbit.0": "virtual, delayed"}),
        ("mass", "kg", {"m_hat": "identified on orbit", "m_vir": "virtual payload"}),
        ("link: age of the newest packet", "s", {"link_age": "on orbit", "down_age": "on the ground"}),
    ],
    "grasp": [
        ("fingers open", "1", {"grip_open_vir": "virtual hand", "grip_open": "slave hand"}),
        ("velocity along x", "m/s", {"v_vir.0": "virtual arm", "v_s.0": "slave arm"}),
        ("position along x, in orbit time", "m", {"x_vir_orbit.0": "virtual, delayed", "x_s.0": "slave"}),
        ("force along x", "N", {"f_vir.0": "virtual arm", "f_s.0": "slave arm"}),
    ],
    "three axes": [
        ("velocity commanded by the operator", "m/s", axes("v_r", "v_r")),
        ("velocity of the virtual arm", "m/s", axes("v_vir", "v_vir")),
        ("velocity of the slave arm", "m/s", axes("v_s", "v_s")),
        ("force of the slave arm", "N", axes("f_s", "f_s")),
        ("turning of the slave hand", "rad/s", axes("w_s", "ω_s")),
    ],
    "two robots": [
        ("payload along x", "m", {"X_WB_cmd.p.0": "set-point of the table", "X_WB_meas.p.0": "measured"}),
        ("hand along x", "m", {"X_Ws_cmd.p.0": "set-point of the arm", "x_s.0": "measured"}),
        ("force along x", "N", {"f_s.0": "hand on the payload, by the wrist", "F_Bcm_W.f.0": "by the table's sensor"}),
        ("phase of the arm's clock", "s", {"clock_phase": "to the table's"}),
    ],
    "master device": [
        ("position along x", "m", {"x_m.0": "master", "x_s.0": "slave"}),
        ("force along x", "N", {"f_hand.0": "hand", "f_mc.0": "master's motors", "f_s.0": "slave arm"}),
        ("energy of the link", "J", {"W_master.into": "into, ground", "W_slave.out": "out, orbit"}),
        ("energy guard", "1", {"master_guard": "master", "slave_guard": "slave"}),
    ],
}
