"""Offline: how stiff a hand the facility can bear."""
