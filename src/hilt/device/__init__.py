"""Robots and sensors: the protocols between hilt and a driver, one folder a protocol, and the rig file."""
