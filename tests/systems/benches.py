"""Each scenario is read and set up once, and whoever asks for its bench gets copies that nobody else has moved."""

import functools
from dataclasses import replace

from hilt import job


@functools.lru_cache(maxsize=16)
def _made(system, scenario, changes):
    found, values, _ = job.find(system, scenario, list(changes))
    return values, found.set_up(values)


def bench(system, scenario, *changes):
    """Scenario and bench."""
    values, made = _made(system, scenario, changes)
    return values, replace(made, **{part: getattr(made, part).copy() for part in ("row", "x", "w", "p")})


def parts(system, scenario, *changes):
    """Its row, the states of controller and plant, and the parameters."""
    _, made = bench(system, scenario, *changes)
    return made.row[0], made.x[0], made.w[0], made.p[0]
