"""Gravity on the load of a real sensor. If a paper uses another value, its system defines it."""

STANDARD_GRAVITY = 9.80665  # m/s²
