"""Signals that systems share: the loop, sense, identify, compensate, dynamics, command, truth, ledger."""

from hilt.core.signals.table import FLOAT, INTEGER, PORT, POSE, TWIST, WRENCH, declare

# The loop
declare("tick", INTEGER, "number of the tick, counted from 0", unit="1")
declare("t", FLOAT, "time of the tick, tick · T", unit="s")
declare("lateness", FLOAT, "time from the deadline to the start of the tick", unit="s")
declare("tick_time", FLOAT, "duration of the tick, from its start to the set-point", unit="s")
declare("done", INTEGER, "1 when the scenario has ended", unit="1")
declare("fault", INTEGER, "code of the first fault, 0 for none", unit="1")
declare("fault_axis", INTEGER, "axis of the fault (0, 1, 2) or number of the joint, -1 for none", unit="1")
declare("fault_value", FLOAT, "the value that tripped the guard", unit="SI")
declare("fault_limit", FLOAT, "the limit it exceeded", unit="SI")

# Measured: what the rig passes to the tick
declare("X_WB_meas", POSE, "pose of the mock-up, measured by the robot's encoders", frame="W")
declare("V_WB_meas", TWIST, "twist of the mock-up, measured by the robot's encoders", frame="W")
declare("F_So_S", WRENCH, "wrench on the mock-up, measured by the sensor at its origin", frame="S")

# Sense
declare("F_So_filt_S", WRENCH, "measured wrench, low-passed by `force_filter`", frame="S")
declare("F_So_net_S", WRENCH, "measured wrench minus bias, weight and inertia forces of the tool", frame="S")
declare("F_Bcm_W", WRENCH, "measured wrench, shifted to the centre of mass", frame="W")

declare("p_C_W", FLOAT, "position of the rod's tip, from the encoders", size=3, unit="m", frame="W")
declare("v_C_W", FLOAT, "its velocity, from the encoders", size=3, unit="m/s", frame="W")
declare("p_C_des_W", FLOAT, "position of the simulated rod's tip at t, relative to the target", size=3, unit="m", frame="W")
declare("v_C_des_W", FLOAT, "its velocity", size=3, unit="m/s", frame="W")
declare(
    "F_mea_W",
    FLOAT,
    "measured contact force on the target, minus the sensor's bias where it is known",
    size=3,
    unit="N",
    frame="W",
)
declare("F_act_W", FLOAT, "measured force with the sensor's delay compensated", size=3, unit="N", frame="W")
declare("in_contact", INTEGER, "1 while the measured force indicates contact", unit="1")
declare("e_W", FLOAT, "direction of the measured force while in contact, else 0", size=3, unit="1", frame="W")

# Identify
declare("k_hat", FLOAT, "identified stiffness of the contact", unit="N/m")
declare("c_hat", FLOAT, "identified damping of the contact", unit="N·s/m")
declare("k_var", FLOAT, "variance of the stiffness", unit="N²/m²")
declare("c_var", FLOAT, "variance of the damping", unit="N²·s²/m²")
declare("identified", INTEGER, "1 when the stiffness may be used", unit="1")

# Compensate
declare("F_comp_W", FLOAT, "force with the robot's delay compensated", size=3, unit="N", frame="W")
declare("F_alpha_W", FLOAT, "force of the energy controller", size=3, unit="N", frame="W")
declare("F_hat_W", FLOAT, "force that drives the simulated bodies", size=3, unit="N", frame="W")
declare("E_contact", FLOAT, "energy stored in the contact since it began, as observed", unit="J")
declare("m_eff", FLOAT, "effective mass at the contact, along its direction", unit="kg")

# Dynamics
declare("X_NA", POSE, "pose of the servicer at t: centre of mass and attitude", frame="N")
declare("V_NA", TWIST, "its twist", frame="N")
declare("X_NT", POSE, "pose of the target at t: centre of mass and attitude", frame="N")
declare("V_NT", TWIST, "its twist", frame="N")
declare("P_N", FLOAT, "momentum of both bodies", size=3, unit="kg·m/s", frame="N")
declare("L_N", FLOAT, "angular momentum of both bodies about the origin", size=3, unit="kg·m²/s", frame="N")
declare("X_WBcm", POSE, "pose of the simulated body at t: centre of mass and attitude", frame="W")
declare("V_WBcm", TWIST, "twist of the simulated body at t, not corrected by the controller", frame="W")
declare("X_WBcm_next", POSE, "pose of the simulated body at t + T", frame="W")
declare("V_WBcm_next", TWIST, "twist of the simulated body at t + T", frame="W")
declare("L_W", FLOAT, "angular momentum about the centre of mass", size=3, unit="kg·m²/s", frame="W")
declare("H", FLOAT, "kinetic energy of translation", unit="J")
declare("H_rot", FLOAT, "kinetic energy of rotation", unit="J")
declare("v_pc", FLOAT, "velocity that the passivity controller removes from t to t + T", size=3, unit="m/s", frame="W")
declare("v_c", FLOAT, "velocity at which the set-point moves from t to t + T", size=3, unit="m/s", frame="W")
declare("beta", FLOAT, "damping coefficient of the passivity controller", size=3, unit="m/(s·N)", frame="W")
declare("E_obs", FLOAT, "energy observed with the controller", size=3, unit="J", frame="W")
declare("E_obs_free", FLOAT, "energy observed as if there were no controller", size=3, unit="J", frame="W")

# Command
declare("X_WB_sim", POSE, "pose of the simulated body's mock-up frame, for t + T", frame="W")
declare("V_WB_sim", TWIST, "its twist", frame="W")
declare("X_WB_cmd", POSE, "commanded pose of the mock-up for t + T", frame="W")
declare("V_WB_cmd", TWIST, "commanded twist of the mock-up", frame="W")
declare("X_WB_sent", POSE, "pose actually sent for t + T; in a tick with a fault, the last one sent", frame="W")
declare("hexa_angles", FLOAT, "crank angles of the motion table for the set-point", size=6, unit="rad")
declare("stage_xy", FLOAT, "position of the X-Y table below the motion table, from its centre", size=2, unit="m", frame="W")

# Truth: known only to the simulated world; no tick may read it
declare("X_WB_true", POSE, "true pose of the mock-up", frame="W")
declare("V_WB_true", TWIST, "true twist of the mock-up", frame="W")
declare("F_Bcm_true_W", WRENCH, "true wrench of the world on the mock-up, at its centre of mass", frame="W")
declare("hands", FLOAT, "poses of the slave hands: position and attitude of each", size=14, unit="m, 1", frame="W")
declare("hand_twists", FLOAT, "their velocities and angular velocities", size=12, unit="m/s, rad/s", frame="W")
declare("hand_wrenches", FLOAT, "force and torque of each hand on the payload at its grip", size=12, unit="N, N·m", frame="W")
declare("wall_W", FLOAT, "force of the slave hand on a wall", size=3, unit="N", frame="W")
declare("hindrance_W", FLOAT, "force of drag and obstacle on the payload", size=3, unit="N", frame="W")
declare("F_C_true_W", FLOAT, "true contact force on the target", size=3, unit="N", frame="W")
declare("p_C_true_W", FLOAT, "true position of the rod's tip", size=3, unit="m", frame="W")
declare("penetration", FLOAT, "true depth of the tip in a frame", unit="m")
declare("collision", INTEGER, "number of the current or last collision, counted from 1", unit="1")
declare("contact", INTEGER, "wall or frame being touched: 1 front, -1 rear, 0 none", unit="1")

# Ledger: energy that entered (into) and left (out) the simulated body since the start, by cause
declare("W_environment", PORT, "work of the world on the robot: true wrench (trapezoid) on true motion")
declare("W_sampling", PORT, "generated by holding the wrench over a tick")
declare("W_delay", PORT, "generated by the robot's response: held wrench on commanded minus true motion")
declare("W_sensor", PORT, "generated by the sensor: measured minus true wrench on commanded motion")
declare("W_compensation", PORT, "generated by the compensation: compensated minus measured force on commanded motion")
declare("W_controller", PORT, "generated by the passivity or energy controller")
declare("W_integrator", PORT, "generated by the integrator of the translation")
declare("W_rotation", PORT, "generated by the integrator of the rotation")
