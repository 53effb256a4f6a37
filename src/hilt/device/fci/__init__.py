"""Franka: a robot and its estimated wrench over the Franka Control Interface (FCI)."""
