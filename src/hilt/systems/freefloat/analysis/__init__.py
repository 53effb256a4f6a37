"""Offline: the motion that a perfect facility would show."""
