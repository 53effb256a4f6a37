"""Geometry that six degrees of freedom add to the twin, which itself works along the contact normal.

The effective mass of the contact (mobility), normals that may be wrong (planes), friction across them, the point where the
force acts, and tip position and attitude ahead of the robot (lead), with limits on vectors (govern).
"""
