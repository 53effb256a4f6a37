"""Compile the ticks of some systems into Numba's cache, so that test processes need not: `warm.py aerial docking:bending`."""

import sys

import numpy as np

from hilt import job
from hilt.core import registry

for each in sys.argv[1:]:
    name, _, scenario = each.partition(":")
    system = registry.system(name)
    _, values, _ = job.find(name, scenario or None, [])
    bench = system.set_up(values)
    job.warm_up(bench)
    bench.code.batch(bench.row, bench.x, bench.w, bench.p, np.zeros(2, system.row))
