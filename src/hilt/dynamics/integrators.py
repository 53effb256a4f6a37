"""Names and codes of the integrators, and the extra delay that each adds in contact.

The rebound from a spring grows by exp(π ω τ_eff / 2) with τ_eff = delay + extra · T, measured in tests/theory/test_wall.py.
"""

EULER = 0
EXPLICIT = 1
PASSIVE = 2
PASSIVE_LITERAL = 3
TRAPEZOID = 4
MOMENTUM = 5

CODES = {
    "euler": EULER,
    "explicit": EXPLICIT,
    "passive": PASSIVE,
    "passive-literal": PASSIVE_LITERAL,
    "trapezoid": TRAPEZOID,
    "momentum": MOMENTUM,
}

# Samples of delay that an integrator adds in contact.
EXTRA_DELAY = {
    "euler": 0.0,
    "explicit": 1.0,
    "passive": 0.5,
    "passive-literal": 1.5,
    "trapezoid": 0.5,
    "momentum": 0.5,
}
