"""Trials of a lab in virtual time: what happens to it is drawn from a seed, and what must hold is checked."""
