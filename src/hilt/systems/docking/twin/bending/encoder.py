"""Step 1 on a robot that bends: positions of the motors, from the encoders and the identified robot.

Noise of the motor position accelerates a tip of frequency ω_f by ω_f² times the noise, as long as it swings. The measured
velocity says more about a single step than two positions do, and the identified robot driven by the commands sent (step 7) may
say even more:
    v = v̂ + w (v_m - v̂),   w = S/(S + σ_v²)                  S: variance of v̂, from the mean square of v_m - v̂ above the noise
    x <- x + T v + g (x_m - x - T v)                          g: Kalman gain for steps with the variance T² w σ_v²
An error of the identified robot is correlated over 20 ms, so S is that of as many samples. If a robot does not move as
identified, only its encoders are used, w = 1.
"""

import math

import numpy as np

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import Cycle
from hilt.systems.docking.twin.beliefs import TwinBeliefs

LEAST_STEP = 0.005  # of the position noise: best accuracy of a step between two samples
WATCHED_OVER, ALIKE, EXPLAINED = 0.1, 0.02, 2.0  # s, s, deviations of the mean square that noise may reach

ENCODER = record(at="f8", rate="f8", off="f8", share="f8")
WEIGHTS = record(**dict.fromkeys(("position", "velocity", "noise", "share", "alike"), "f8"), uses_model="i8")


@jit
def weigh(x, p, at, rate, modelled, dt):
    """Combine one sample of the encoders with the velocity of the identified robot."""
    off = rate - modelled
    x.off += x.share * (off * off - x.off)
    x.share = max(x.share / (1.0 + x.share), p.share)
    w = 1.0
    if p.uses_model:
        beyond = p.alike * max(0.0, x.off - p.noise)
        w = beyond / (beyond + p.velocity * p.velocity)
    rate = modelled + w * off if p.uses_model else rate
    expected = x.at + 0.5 * dt * (x.rate + rate)
    gain = 1.0
    if p.position > 0.0:
        step = max(dt * math.sqrt(w) * p.velocity / p.position, LEAST_STEP)
        gain = 0.5 * step * (math.sqrt(step * step + 4.0) - step)
    x.at, x.rate = expected + gain * (at - expected), rate


def pack_weights(p: np.record, beliefs: TwinBeliefs, loop: Cycle) -> None:
    samples = WATCHED_OVER / loop.period
    p.position, p.velocity = beliefs.position_noise, beliefs.velocity_noise
    p.uses_model = beliefs.robot.T2 > 0.0 and beliefs.velocity_noise > 0.0
    p.noise = beliefs.velocity_noise**2 * (1.0 + EXPLAINED / math.sqrt(samples))  # a running mean counts as twice its samples
    p.share, p.alike = min(1.0, 1.0 / samples), max(1.0, ALIKE / loop.period)
