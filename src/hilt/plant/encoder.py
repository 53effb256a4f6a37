"""The robot's encoders: pose and twist of the mock-up, with noise on position and velocity."""

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre, MetrePerSecond
from hilt.maths import noise, so3, vec


class Encoder(Section):
    """Noise of the measured motion, rms per axis."""

    position_noise: Metre = Field(default=0.0, ge=0)
    velocity_noise: MetrePerSecond = Field(default=0.0, ge=0)


@jit
def encoder_step(sig, x, p, dt):
    position, velocity = vec.load(sig.X_WB_true.p), vec.load(sig.V_WB_true.v)
    if p.position_noise > 0.0:
        position = vec.add(position, vec.scale(p.position_noise, noise.normal_vector(x.noise)))
    if p.velocity_noise > 0.0:
        velocity = vec.add(velocity, vec.scale(p.velocity_noise, noise.normal_vector(x.noise)))
    vec.store(sig.X_WB_meas.p, position)
    so3.store(sig.X_WB_meas.q, so3.load(sig.X_WB_true.q))
    vec.store(sig.V_WB_meas.v, velocity)
    vec.store(sig.V_WB_meas.w, vec.load(sig.V_WB_true.w))


def _pack(p: np.record, encoder: Encoder, loop: Cycle) -> None:
    p.position_noise, p.velocity_noise = encoder.position_noise, encoder.velocity_noise
    p.key = loop.noise_key("encoder.noise")


@jit
def _reset(sig, x, p):
    x.noise.key = p.key


ENCODER = StageKind(
    "encoder",
    encoder_step,
    reads=("X_WB_true", "V_WB_true"),
    writes=("X_WB_meas", "V_WB_meas"),
    state=record(noise=noise.NOISE),
    params=record(position_noise="f8", velocity_noise="f8", key="u8"),
    pack=_pack,
    reset=_reset,
)
