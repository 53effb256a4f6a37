"""Frames of freefloat: the sensor on the mock-up."""

from hilt.record.standard import Fixed, Frames
from hilt.systems.freefloat.freefloat import FreeFloat


def frames(values: FreeFloat) -> Frames:
    return Frames(fixed=(Fixed("B_meas", "S", values.sensor.position, values.sensor.attitude),))
