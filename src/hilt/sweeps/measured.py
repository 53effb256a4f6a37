"""One run of a space whose metrics are measured from rows, which are kept only until the meter has read them."""

import numpy as np

from hilt.core.scenario import Scenario
from hilt.metrics.tally import Tally
from hilt.sweeps.columns import End
from hilt.sweeps.space import Space

ROWS = 4096  # at a time


def run(space: Space, number: int) -> End:
    _, tally = tallied(space, number)
    return End(tally.metrics(), tally.count, int(tally.last[0]["fault"]))


def tallied(space: Space, number: int) -> tuple[Scenario, Tally]:
    """Return one scenario and the tally of its run."""
    system, values = space.system, space.scenario(number)
    bench, tally = system.set_up(values), Tally(system, values)
    log = np.zeros(min(ROWS, bench.ticks), system.row)
    while tally.count < bench.ticks:
        part = log[: bench.ticks - tally.count]
        count = bench.code.go_on(bench.row, bench.x, bench.w, bench.p, part, tally.count)
        tally.feed(part[:count])
        if part[count - 1]["fault"] or part[count - 1]["done"]:
            break
    return values, tally
