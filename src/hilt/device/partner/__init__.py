"""The second of two robots, in its own process: it has its own clock, so it cannot be answered in the loop's tick."""
