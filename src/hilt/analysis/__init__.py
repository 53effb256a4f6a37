"""Offline: what is simulated beside a run, asked for by a command, and kept with the run."""
