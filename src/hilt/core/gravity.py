"""Gravity on the real load of a real sensor. What a paper simulates with another figure is named in its system."""

STANDARD_GRAVITY = 9.80665  # m/s²
