"""A machine in virtual time: the same code, in one process, faster than real time, with faults from a seed."""
