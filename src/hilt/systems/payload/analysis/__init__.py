"""Offline: what a report of the payload shows beside its run."""
