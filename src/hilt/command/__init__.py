"""Blocks between the simulated body and the robot: set-points and their lead."""
