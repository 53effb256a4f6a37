"""Vectors, rotations, chains of joints, delay lines, channels, noise: compiled functions on plain tuples and records."""
