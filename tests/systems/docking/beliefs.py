"""Robots that bend and what may be believed about them, right or wrong: for properties that hold whatever is believed."""

from hypothesis import strategies as st

ANYTHING = {
    "robot.stiffness": st.sampled_from(["0.1 N/um", "0.5 N/um", "10 N/um"]),
    "robot.mode_frequency": st.sampled_from(["3 Hz", "12 Hz", "60 Hz"]),
    "prior.compliance_error": st.floats(-0.9, 10.0),
    "prior.mode_frequency_error": st.floats(-0.9, 5.0),
    "prior.mode_damping_error": st.floats(-1.0, 20.0),
    "prior.stiffness_error": st.floats(-0.9, 5.0),
    "prior.surface_error": st.floats(-5e-3, 5e-3),
    "contact.damping": st.sampled_from(["0 N*s/m", "300 N*s/m"]),
    "contact.kind": st.sampled_from(["linear", "hertz"]),
    "seed": st.integers(1, 9),
}
