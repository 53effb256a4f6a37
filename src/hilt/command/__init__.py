"""Blocks between a simulated body and the robot: set-points and their lead."""
