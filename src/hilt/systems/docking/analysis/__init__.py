"""Offline analysis: the bound on what any method can reach, and the rehearsal of a first contact."""
