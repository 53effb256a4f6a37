"""Signals of method `twin` of `docking`, along the frames' normal; pairs are front frame, rear frame."""

from hilt.core.signals.table import FLOAT, INTEGER, PORT, declare

# What is measured (step 1)
declare("F_bias_W", FLOAT, "bias of the sensor, observed in free flight", size=3, unit="N", frame="W")
declare("fresh", INTEGER, "1 if the force is a new sample, 0 if it was lost", unit="1")
declare("F_n", FLOAT, "measured force along the frames' normal", unit="N")
declare("x_late", FLOAT, "measured tip along the normal, when the force was felt", unit="m")
declare("v_late", FLOAT, "its velocity", unit="m/s")
declare("x_sim", FLOAT, "simulated tip along the normal, at t", unit="m")
declare("v_sim", FLOAT, "its velocity", unit="m/s")

# Contact (steps 2, 3)
declare("touch", INTEGER, "frame that is felt: 1 front, -1 rear, 0 none", unit="1")
declare(
    "touch_event",
    INTEGER,
    "1 a contact begins, 2 it ends, 3 no surface where one was expected, 4 false alarm",
    unit="1",
)
declare("frame_known", INTEGER, "0 never touched, 1 touched, 2 known", size=2, unit="1")
declare("frame_model", INTEGER, "model in use: 0 linear, 1 Hertz", size=2, unit="1")
declare("frame_k", FLOAT, "stiffness of the twin's frames", size=2, unit="N/m")
declare("frame_c", FLOAT, "their damping, 0 where noise could explain it", size=2, unit="N·s/m")
declare("frame_q", FLOAT, "Hertz: F^(2/3) per depth", size=2, unit="N^(2/3)/m")
declare("frame_s", FLOAT, "where their surfaces are, along the normal", size=2, unit="m")

# Robot (step 7)
declare("t_d_hat", FLOAT, "identified dead time of the robot", unit="s")
declare("T1_hat", FLOAT, "identified 2ζ/ω_n of the robot", unit="s")
declare("T2_hat", FLOAT, "identified 1/ω_n² of the robot", unit="s²")
declare("x_m_hat", FLOAT, "the identified robot on the commands given: where its encoders see the tip", unit="m")
declare("v_m_hat", FLOAT, "its velocity", unit="m/s")

# Bending of the robot
declare("x_m_late", FLOAT, "where the encoders saw the tip when the force was felt", unit="m")
declare("v_m_late", FLOAT, "its velocity", unit="m/s")
declare("bend_k_hat", FLOAT, "stiffness of the bending robot, as learnt", unit="N/m")
declare("bend_w_hat", FLOAT, "angular frequency of its mode", unit="rad/s")
declare("bend_z_hat", FLOAT, "damping ratio of its mode", unit="1")
declare("learnt", INTEGER, "frame whose last contact was learnt in this tick: 1 front, -1 rear, 0 none", unit="1")
declare("learnt_law", INTEGER, "law of the frames, as learnt: 0 linear, 1 Hertz, -1 none yet", size=2, unit="1")
declare("learnt_k", FLOAT, "their stiffness, where linear", size=2, unit="N/m")
declare("learnt_q", FLOAT, "after Hertz: F^(2/3) per depth", size=2, unit="N^(2/3)/m")
declare("learnt_c", FLOAT, "their damping", size=2, unit="N·s/m")
declare("learnt_s", FLOAT, "surface of the frame whose contact was learnt, along the normal", unit="m")
declare("learnt_x", FLOAT, "the real tip at its end, along the normal", unit="m")
declare("learnt_v", FLOAT, "its velocity", unit="m/s")

# Clock (step 6)
declare("clock_rate", FLOAT, "β: virtual seconds per second", unit="1")
declare("clock_slope", FLOAT, "its rate of change", unit="1/s")
declare("clock_aim", FLOAT, "its target value", unit="1")
declare("time_slip", FLOAT, "lag of the virtual clock", unit="s")

# Virtual body and exit balance (steps 4, 5)
declare("n_hat_W", FLOAT, "normal of the frame that is felt or ahead, from the rear to the front", size=3, unit="1", frame="W")
declare("doubt", FLOAT, "how far that frame may be from its believed position, due to its normal", unit="m")
declare(
    "tip_offset_B",
    FLOAT,
    "point of contact relative to the believed tip, perpendicular to the force",
    size=3,
    unit="m",
    frame="B",
)
declare("x_twin", FLOAT, "simulated tip along the normal, for t + T", unit="m")
declare("v_twin", FLOAT, "its velocity", unit="m/s")
declare("v_entry", FLOAT, "speed with which the simulated tip entered the contact", unit="m/s")
declare("v2_twin", FLOAT, "∫ v² dt of the simulated tip in this contact", unit="m²/s")
declare("W_measured", FLOAT, "work done on the real frame in this contact", unit="J")
declare("loss", FLOAT, "share λ of the kinetic energy that a contact keeps, by the last balance", unit="1")
declare("E_exit", FLOAT, "kinetic energy given or taken by closing the last balance", unit="J")

# Command (steps 8 to 10)
declare("r_twin", FLOAT, "where the robot should be when the command arrives", unit="m")
declare("u_twin", FLOAT, "command along the normal, for t + T", unit="m")
declare("du_twin", FLOAT, "its velocity", unit="m/s")
declare("W_twin", PORT, "made by sending the robot ahead of the simulated body")
