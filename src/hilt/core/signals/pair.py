"""Signals of two robots that share a relative motion."""

from hilt.core.signals.table import FLOAT, POSE, declare

declare("X_GB_meas", POSE, "pose of the mock-up by the encoders of the robot that carries it, of two robots", frame="G")
declare("X_GW_meas", POSE, "pose of what it meets by the encoders of the other robot; 0 with one robot", frame="G")
declare("clock_phase", FLOAT, "time since the last cycle of the robot that is not the clock", unit="s")
