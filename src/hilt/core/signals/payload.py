"""Signals of `payload`: ground, link, bilateral mode, orbit."""

from hilt.core.signals.table import FLOAT, INTEGER, PORT, POSE, WRENCH, declare

# Ground and link (payload)
declare("v_r", FLOAT, "reference velocity commanded by the operator", size=3, unit="m/s", frame="W")
declare("w_r", FLOAT, "reference angular velocity commanded by the operator", size=3, unit="rad/s", frame="W")
declare(
    "joystick",
    FLOAT,
    "deflection of the joystick: velocity and angular velocity, as fractions of their maximum",
    size=6,
    unit="1",
)
declare("hand_open_r", FLOAT, "1 while the operator wants the hand open, 0 closed", unit="1")
declare("grip_open_vir", FLOAT, "how far the fingers of the virtual hand are open: 0 closed on the payload, 1 open", unit="1")
declare("x_vir", FLOAT, "hand position of the virtual arm at t, on the ground", size=3, unit="m", frame="W")
declare("v_vir", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("q_vir", FLOAT, "its attitude", size=4, unit="1", frame="W")
declare("w_vir", FLOAT, "its angular velocity", size=3, unit="rad/s", frame="W")
declare("x_vir_up", FLOAT, "hand position as sent to orbit, without the re-synchronisation", size=3, unit="m", frame="W")
declare("m_vir", FLOAT, "mass of the virtual payload", unit="kg")
declare("x_tvir", FLOAT, "grip position of the virtual payload", size=3, unit="m", frame="W")
declare("v_tvir", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("q_tvir", FLOAT, "its attitude", size=4, unit="1", frame="W")
declare("w_tvir", FLOAT, "its angular velocity", size=3, unit="rad/s", frame="W")
declare("f_vir", FLOAT, "force of the virtual arm on the virtual payload", size=3, unit="N", frame="W")
declare("tau_vir", FLOAT, "its torque, at the grip", size=3, unit="N·m", frame="W")
declare("v_r_orbit", FLOAT, "reference velocity as played out on orbit", size=3, unit="m/s", frame="W")
declare("x_vir_orbit", FLOAT, "hand position of the virtual arm as played out on orbit", size=3, unit="m", frame="W")
declare("w_r_orbit", FLOAT, "reference angular velocity as played out on orbit", size=3, unit="rad/s", frame="W")
declare("q_vir_orbit", FLOAT, "attitude of the virtual hand as played out on orbit", size=4, unit="1", frame="W")
declare("v_tvir_orbit", FLOAT, "velocity of the virtual payload's grip as played out on orbit", size=3, unit="m/s", frame="W")
declare("f_vir_orbit", FLOAT, "force of the virtual arm as played out on orbit", size=3, unit="N", frame="W")
declare("m_vir_orbit", FLOAT, "mass of the virtual payload as played out on orbit", unit="kg")
declare("hand_open_orbit", FLOAT, "hand_open_r as played out on orbit", unit="1")
declare("x_s_ground", FLOAT, "hand position of the slave arm as played out on the ground", size=3, unit="m", frame="W")
declare("f_s_ground", FLOAT, "force of the slave arm as played out on the ground", size=3, unit="N", frame="W")
declare("m_ground", FLOAT, "mass reported by orbit", unit="kg")
declare("m_sigma_ground", FLOAT, "its standard deviation", unit="kg")
declare("k_ground", FLOAT, "stiffness of the grip reported by orbit", unit="N/m")
declare("pushed_ground", FLOAT, "1 when orbit reports that the identification push is over", unit="1")
declare("offset_ground", FLOAT, "offset that orbit keeps after an outage, as reported", size=3, unit="m", frame="W")
declare("grip_open_ground", FLOAT, "how far the fingers are open, as reported by orbit", unit="1")
declare("link_silence", FLOAT, "age of the newest packet on orbit in excess of the play-out delay", unit="s")
declare("link_sent", INTEGER, "packets sent to orbit", unit="1")
declare("link_lost", INTEGER, "packets lost on the link", unit="1")
declare("link_age", FLOAT, "time since the newest packet on orbit was sent", unit="s")
declare("link_duplicated", INTEGER, "packets that arrived on orbit a second time", unit="1")
declare("link_reordered", INTEGER, "packets that arrived on orbit a tick or more after a newer one", unit="1")
declare("link_delay_mean", FLOAT, "mean delay of the packets that arrived on orbit", unit="s")
declare("link_delay_max", FLOAT, "their longest delay", unit="s")
declare("down_silence", FLOAT, "age of the newest packet on the ground in excess of the play-out delay", unit="s")
declare("down_age", FLOAT, "time since the newest packet on the ground was sent", unit="s")
declare("down_sent", INTEGER, "packets sent to the ground", unit="1")
declare("down_lost", INTEGER, "packets lost on the link", unit="1")
declare("down_duplicated", INTEGER, "packets that arrived on the ground a second time", unit="1")
declare("down_reordered", INTEGER, "packets that arrived on the ground a tick or more after a newer one", unit="1")
declare("down_delay_mean", FLOAT, "mean delay of the packets that arrived on the ground", unit="s")
declare("down_delay_max", FLOAT, "their longest delay", unit="s")

# Bilateral mode (payload): the operator's hand holds a master device and feels the forces on the slave arm
declare("x_m", FLOAT, "position of the master device, measured", size=3, unit="m", frame="W")
declare("v_m", FLOAT, "its velocity, measured", size=3, unit="m/s", frame="W")
declare("f_m", FLOAT, "force of its motors against the hand, measured", size=3, unit="N", frame="W")
declare("f_mc", FLOAT, "the same, as commanded from t to t + T", size=3, unit="N", frame="W")
declare("f_hand", FLOAT, "true force of the hand on the master device", size=3, unit="N", frame="W")
declare("f_sc", FLOAT, "force commanded to the motors of the slave arm from t to t + T", size=3, unit="N", frame="W")
declare("f_sm", FLOAT, "force of the motors of the slave arm, measured", size=3, unit="N", frame="W")
declare("x_m_newest", FLOAT, "position of the master device in the newest packet on orbit", size=3, unit="m", frame="W")
declare("v_m_newest", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("E_m_newest", FLOAT, "energy put into the link on the ground, from the newest packet on orbit", unit="J")
declare("x_s_newest", FLOAT, "hand position of the slave arm in the newest packet on the ground", size=3, unit="m", frame="W")
declare("v_s_newest", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare("E_s_newest", FLOAT, "energy put into the link on orbit, from the newest packet on the ground", unit="J")
declare(
    "W_master",
    PORT,
    "energy into and out of the link on the ground, measured at the master device; with a joystick, at the virtual arm",
)
declare("W_slave", PORT, "energy into and out of the link on orbit, at the slave arm")
declare("master_guard", INTEGER, "1 while the energy guard limits the master's force", unit="1")
declare("slave_guard", INTEGER, "1 while the energy guard limits the slave's force", unit="1")
declare(
    "master_fade",
    FLOAT,
    "share of the control law in the master's force: 1 link alive, 0 link silent and only damping",
    unit="1",
)
declare("slave_fade", FLOAT, "share of the control law in the slave's force, likewise", unit="1")

# Orbit (payload)
declare("x_s", FLOAT, "hand position of the slave arm, measured", size=3, unit="m", frame="W")
declare("v_s", FLOAT, "its velocity, measured", size=3, unit="m/s", frame="W")
declare("f_s", FLOAT, "force of the slave arm on the payload, measured at the wrist", size=3, unit="N", frame="W")
declare("q_s", FLOAT, "attitude of the hand, measured", size=4, unit="1", frame="W")
declare("w_s", FLOAT, "its angular velocity, measured", size=3, unit="rad/s", frame="W")
declare("tau_s", FLOAT, "torque of the slave arm on the payload at the grip, measured", size=3, unit="N·m", frame="W")
declare("f_hands", FLOAT, "force of each hand on the payload, measured at its wrist", size=6, unit="N", frame="W")
declare("grip_open", FLOAT, "how far the fingers are open, measured: 0 closed on the payload, 1 open", unit="1")
declare("E_grip", FLOAT, "energy stored in the springs of the grips", unit="J")
declare("W_hands", PORT, "work of the slave hands on their grips")
declare("W_grips", PORT, "work of the grips on the payload")
declare("W_fingers", PORT, "energy generated when the fingers close or open: a stretched grip of changing stiffness")
declare("W_grip_damping", PORT, "energy lost in the dampers of the grips")
declare("F_Qo_Q", WRENCH, "wrench on the slave hand, measured by its wrist sensor at the sensor's origin", frame="Q")
declare("X_Ws_cmd", POSE, "commanded pose of the slave hand for t + T, if a robot carries it", frame="W")
declare("v_sc", FLOAT, "velocity commanded to the slave arm from t to t + T", size=3, unit="m/s", frame="W")
declare("w_sc", FLOAT, "angular velocity commanded to the slave arm", size=3, unit="rad/s", frame="W")
declare("q_arm", FLOAT, "joint angles of the slave arms, measured; two arms with seven joints each", size=14, unit="rad")
declare("qd_arm_c", FLOAT, "joint speeds commanded to them from t to t + T", size=14, unit="rad/s")
declare("arm_damping", FLOAT, "damping near a singular posture of an arm: 0 none, 1 at the singularity", unit="1")
declare("m_hat", FLOAT, "mass of the payload, identified on orbit", unit="kg")
declare("m_var", FLOAT, "its variance", unit="kg²")
declare("b_hat", FLOAT, "bias of the wrist sensor along the operator's direction", unit="N")
declare("c_hat_payload", FLOAT, "identified drag of the payload", unit="N·s/m")
declare("k_grip_hat", FLOAT, "identified stiffness of the grip", unit="N/m")
declare(
    "identify_frozen",
    INTEGER,
    "1 while identification pauses, because something other than the arm moves the payload",
    unit="1",
)
declare("pushed", INTEGER, "1 when the identification push is over", unit="1")
declare(
    "offset", FLOAT, "displacement between virtual and slave hand that is kept after an outage", size=3, unit="m", frame="W"
)
declare("link_state", INTEGER, "0 link alive, 1 silent, 2 coming back", unit="1")
