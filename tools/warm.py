"""Compile the ticks of some systems into Numba's cache, so that test processes need not: `warm.py docking aerial`."""

import sys

import numpy as np

from hilt import job
from hilt.core import registry

for name in sys.argv[1:]:
    system = registry.system(name)
    _, values, _ = job.find(name, None, [])
    bench = system.set_up(values)
    job.warm_up(bench)
    bench.code.batch(bench.row, bench.x, bench.w, bench.p, np.zeros(2, system.row))
