"""Preparation of a run on devices: check the host, calibrate the tool, identify the robot; and the emulated lab."""
