"""Signals of two robots that share a relative motion."""

from hilt.core.signals.table import FLOAT, declare

declare(
    "hall_poses",
    FLOAT,
    "poses of B and of W in the hall, each from the encoders of the robot that moves it: position and attitude of each",
    size=14,
    unit="m, 1",
    frame="G",
)
declare("clock_phase", FLOAT, "time since the last cycle of the robot that is not the clock", unit="s")
