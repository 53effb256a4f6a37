"""Frames of aerial: the hardware arm stands in the simulated world; its base H is the laboratory's W."""

from hilt.record.standard import Fixed, Frames, Joints
from hilt.systems.aerial.aerial import Aerial


def frames(values: Aerial) -> Frames:
    p_NH, q_NH = values.frames.hardware_in_world(values.start_of_tool[0], values.start_of_simulated_tool[0])
    return Frames(
        fixed=(
            Fixed("N", "H", p_NH, q_NH),
            Fixed("H", "W"),
            Fixed("b_meas", "b"),
            Fixed("B_meas", "S", values.sensor.position, values.sensor.attitude),
        ),
        joints=(
            Joints(tuple(f"flying_joint{joint + 1}" for joint in range(6)), "q_uam"),
            Joints(tuple(f"hardware_joint{joint + 1}" for joint in range(7)), "q_hw"),
        ),
    )
