"""hilt: robotic hardware-in-the-loop simulation with an energy ledger."""

__version__ = "0.1.0"
