"""Offline analysis: simulations beside a run, requested by a command and stored with the run."""
