"""Robots, frames and what may be believed about them, right or wrong: for properties that hold whatever is believed."""

from hypothesis import strategies as st

from hilt.systems.docking.twin import model

KINDS = st.sampled_from(["linear", "hertz"])
ANYTHING = {  # of a robot that bends
    "robot.stiffness": st.sampled_from(["0.1 N/um", "0.5 N/um", "10 N/um"]),
    "robot.mode_frequency": st.sampled_from(["3 Hz", "12 Hz", "60 Hz"]),
    "prior.compliance_error": st.floats(-0.9, 10.0),
    "prior.mode_frequency_error": st.floats(-0.9, 5.0),
    "prior.mode_damping_error": st.floats(-1.0, 20.0),
    "prior.stiffness_error": st.floats(-0.9, 5.0),
    "prior.surface_error": st.floats(-5e-3, 5e-3),
    "contact.damping": st.sampled_from(["0 N*s/m", "300 N*s/m"]),
    "contact.kind": KINDS,
    "seed": st.integers(1, 9),
}
PRIORS = ("prior.stiffness_error", "prior.delay_error", "prior.frequency_error", "prior.damping_error")
STIFF = {  # of a stiff one; `lag` is that of the robot alone
    "contact.stiffness": st.floats(2e4, 1e6),
    "contact.kind": KINDS,
    "robot.kind": st.sampled_from(["delay", "second-order", "delay+second-order"]),
    "lag": st.floats(0.004, 0.06),
    "sensor.noise": st.floats(0, 5),
    **dict.fromkeys(PRIORS, st.floats(-0.66, 2.0)),  # up to three times too much or too little
    "prior.surface_error": st.floats(-3e-3, 3e-3),
    "seed": st.integers(1, 1000),
}
MEASURED = ("sensor.delay=2 ms", "encoder.position_noise=2 um", "encoder.velocity_noise=0.1 mm/s")


def settings_of(drawn):
    """As settings of a scenario."""
    lag = drawn.get("lag")
    late = () if lag is None else (f"robot.delay={lag + 0.002}", f"robot.pure_delay={0.4 * lag}", *MEASURED)
    return (*(f"{key}={value}" for key, value in drawn.items() if key != "lag"), *late)


def frames(nearest, farthest):
    """What the twin may know of a frame: see `tell`."""
    return st.tuples(
        st.sampled_from([model.UNSEEN, model.SEEN, model.KNOWN]),
        st.sampled_from([model.LINEAR, model.HERTZ]),
        st.floats(1e3, 1e7),
        st.floats(0, 1e4),
        st.floats(1e3, 1e6),
        st.floats(nearest, farthest),
    )


def tell(sig, *known):
    """Front and rear frame."""
    for i, each in enumerate(known):
        for name, value in zip(("known", "model", "k", "c", "q", "s"), each, strict=True):
            sig[f"frame_{name}"][i] = value
