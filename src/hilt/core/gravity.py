"""Gravity on the real load of a real sensor. Where a paper uses another value, its system defines it."""

STANDARD_GRAVITY = 9.80665  # m/s²
