"""Frames of docking: the laboratory frame W is at the target's mock-up, the sensor under it."""

from hilt.record.standard import Couple, Fixed, Frames, Pose
from hilt.systems.docking.docking import Docking


def frames(values: Docking) -> Frames:
    target, sensor = values.target, values.sensor
    return Frames(
        fixed=(
            Fixed("T", "W", target.assembly_position, target.assembly_attitude),
            Fixed("W", "S", sensor.position, sensor.attitude),
        ),
        poses=(Pose("p_C_true_W", "W", "C_true", "p_C_true_W"),),
        wrenches=(Couple("F_C_true_W", "C_true", "F_C_true_W"),),
    )
