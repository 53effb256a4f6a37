"""Geometry that six degrees of freedom add to the twin, which itself runs along the contact's normal.

The mass that the contact feels (mobility), normals that may be wrong (planes), friction across them, the point where the force
acts, and the motion of the whole tip and attitude ahead of the robot (lead) within limits on vectors (govern).
"""
