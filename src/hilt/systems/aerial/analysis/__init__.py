"""Offline: the stiffest hand for which the facility is stable."""
