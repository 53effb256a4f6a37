"""Random numbers whose state is a field of a record: the same in the loop, in a sweep in any order, and on a GPU.

A counter goes through the finaliser of SplitMix64 (Steele, Lea & Flood 2014); two of its outputs make two normal numbers by
Box and Muller. The key comes from the scenario's seed and the name of the noise.
"""

import hashlib
import math

import numpy as np

from hilt.compiled import jit
from hilt.compiled.records import record

NOISE = record(key="u8", counter="u8")

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)
_ONE = np.uint64(1)


def key_of(seed: int, name: str) -> int:
    """A key for the noise called `name` in a scenario with this seed."""
    return int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:8], "little")


@jit
def uniform(noise):
    """A number in (0, 1], 53 bits."""
    noise.counter = noise.counter + _ONE
    z = noise.key + noise.counter * _GAMMA
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    z = z ^ (z >> _S31)
    return (float(z >> _S11) + 1.0) * (1.0 / 9007199254740992.0)


@jit
def normal_pair(noise):
    """Two independent normal numbers of mean 0 and variance 1."""
    radius = math.sqrt(-2.0 * math.log(uniform(noise)))
    angle = 2.0 * math.pi * uniform(noise)
    return radius * math.cos(angle), radius * math.sin(angle)


@jit
def normal_vector(noise):
    a, b = normal_pair(noise)
    c, _ = normal_pair(noise)
    return (a, b, c)
