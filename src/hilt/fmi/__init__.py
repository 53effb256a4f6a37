"""Functional Mock-up Interface: systems as FMUs for other tools, and FMUs of other tools inside the loop."""
