"""The second of two robots, in a process of its own: with its own clock it cannot be answered in the loop's tick."""
