"""Offline: what a report of `payload` shows besides its run."""
