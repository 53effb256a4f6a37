"""Step 3 in space: each frame as a plane whose believed normal may be wrong.

    x(q) = h + n·(q - a)                                   the tip along the plane's normal; a: where it was touched last
    in contact:   n <- unit(n + g (F/F_n)_t),              g = σ_n²/(σ_n² + (σ/F_n)²),   σ_n² <- (1 - g) σ_n²
    at the exit:  n is turned so that the places where this plane was touched lie in it

Turning n about the place of the last touch leaves what was learnt there as it is. A normal that is told exactly, σ_n = 0,
stays.
"""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import vec

FELT = 4.0  # thresholds: below it the direction of the force says little
PLACE = 10e-6  # m: how well one contact places a surface
LEAST = 1e-10  # rad²: no normal is known better

PLANE = record(n=3, a=3, h="f8", variance="f8", met="i8", point=3)


@jit
def along(plane, q):
    """Tip q along the plane's normal."""
    return plane.h + vec.dot(vec.load(plane.n), vec.sub(q, vec.load(plane.a)))


@jit
def anchor(plane, q):
    """The plane turns about q from now on; x(q) stays as it is."""
    plane.h = along(plane, q)
    vec.store(plane.a, q)


@jit
def _turn(plane, by):
    n = vec.add(vec.load(plane.n), by)
    vec.store(plane.n, vec.scale(1.0 / vec.dot(n, n) ** 0.5, n))


@jit
def turn_to_force(plane, force, deviation, threshold):
    """One sample of a force in contact; without friction it is along the normal."""
    n = vec.load(plane.n)
    size = vec.dot(n, force)
    if not abs(size) > FELT * threshold or plane.variance <= LEAST:
        return
    off = vec.sub(vec.scale(1.0 / size, force), n)
    share = plane.variance / (plane.variance + (deviation / size) ** 2)
    plane.variance *= 1.0 - share
    _turn(plane, vec.scale(share, off))


@jit
def turn_to_places(plane, surface):
    """The end of a contact: `surface` is where it was along the normal."""
    n = vec.load(plane.n)
    point = vec.add(vec.load(plane.a), vec.scale(surface - plane.h, n))
    if plane.met and plane.variance > LEAST:
        apart = vec.sub(point, vec.load(plane.point))
        out = vec.dot(n, apart)
        way = vec.sub(apart, vec.scale(out, n))
        square = vec.dot(way, way)
        if square > 0.0:
            share = plane.variance / (plane.variance + 2.0 * PLACE * PLACE / square)
            plane.variance *= 1.0 - 0.5 * share  # of two directions one has been seen
            _turn(plane, vec.scale(-share * out / square, way))
    vec.store(plane.point, point)
    plane.met = 1
