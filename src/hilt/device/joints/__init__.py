"""Joint space: the arm of a URDF file, and set-points of its joints for poses of its tool."""
