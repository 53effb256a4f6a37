"""The force/torque sensor: the true wrench, shifted to the sensor, delayed, low-passed, biased, noisy, clipped and rounded.
Samples may be lost; the last one is then held.

`sensor` sits between robot and mock-up and moves with them, and may carry a load whose weight and inertia forces it measures;
`target-sensor` sits under the mock-up that does not move.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import (
    Count,
    Hertz,
    Metre3,
    Newton,
    Newton3,
    NewtonMetre,
    NewtonMetre3,
    NewtonPerSecond3,
    Number,
    Quaternion,
    Second,
)
from hilt.maths import delay, noise, so3, vec
from hilt.sense.tool_load import LOAD, MOTION, Load, accelerations, load_wrench


class Sensor(Section):
    """A six-axis force/torque sensor."""

    noise: Newton = Field(default=0.0, ge=0, description="rms of each force axis")
    torque_noise: NewtonMetre = Field(default=0.0, ge=0, description="rms of each torque axis")
    bias: Newton3 = (0.0, 0.0, 0.0)
    torque_bias: NewtonMetre3 = (0.0, 0.0, 0.0)
    drift: NewtonPerSecond3 = Field(default=(0.0, 0.0, 0.0), description="of the bias")
    bandwidth: Hertz = Field(default=0.0, ge=0, description="corner of a first-order low-pass; 0 for none")
    delay: Second = Field(default=0.0, ge=0)
    sample_age: Second = Field(
        default=0.0, ge=0, description="mean age of the newest sample, half a sensor period; unknown to the controller"
    )
    saturation: Newton = Field(default=0.0, ge=0, description="largest force of an axis; 0 for none")
    torque_saturation: NewtonMetre = Field(default=0.0, ge=0, description="largest torque of an axis; 0 for none")
    resolution: Newton = Field(default=0.0, ge=0, description="step of the converter for forces; 0 for none")
    torque_resolution: NewtonMetre = Field(default=0.0, ge=0, description="step of the converter for torques; 0 for none")
    dropout: Number = Field(default=0.0, ge=0, le=1, description="probability per tick that a loss of samples begins")
    dropout_length: Count = Field(default=5, ge=1, description="longest loss in samples; each loss has 1 to this many")
    position: Metre3 = Field(
        default=(0.0, 0.0, 0.0), description="origin of the sensor in the frame of the body that carries it"
    )
    attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="of the sensor in that frame, w x y z")
    load: Load | None = Field(default=None, description="true load on a sensor that moves; none if not given")

    @property
    def lateness(self) -> float:
        """Delay of a measurement in the loop, without the low-pass [s]."""
        return self.delay + self.sample_age

    def share(self, period: float) -> float:
        """Share of the input in one exact step of the low-pass, for an input held over the tick."""
        return 1.0 - math.exp(-2.0 * math.pi * self.bandwidth * period) if self.bandwidth > 0 else 1.0

    def lag(self, period: float) -> float:
        """Low-frequency delay of the sampled low-pass [s]."""
        share = self.share(period)
        if share == 0.0:  # a cutoff so low that a tick has no effect
            return 1.0 / (2.0 * math.pi * self.bandwidth)
        return period * (1.0 - share) / share


@jit
def _convert(value, most, step):
    """Clip at ± most and round to steps; 0 disables either."""
    if most > 0.0:
        value = min(max(value, -most), most)
    return step * round(value / step) if step > 0.0 else value


@jit
def _lost(x, p):
    """Whether this sample is lost."""
    if x.lost == 0 and noise.uniform(x.losses) < p.dropout:
        x.lost = 1 + int(p.dropout_length * noise.uniform(x.losses))
    lost = x.lost > 0
    x.lost = max(0, x.lost - 1)
    return lost


@jit
def measure(sig, x, p, f_S, tau_S, dt):
    """The sensor's reading of the wrench at its origin."""
    f, tau = f_S, tau_S
    if p.samples > 0.0:
        delay.push_wrench(x.line, f_S, tau_S)
        f, tau = delay.read_force(x.line, p.samples), delay.read_torque(x.line, p.samples)
    if p.share < 1.0:
        f = vec.add(vec.load(x.f), vec.scale(p.share, vec.sub(f, vec.load(x.f))))
        tau = vec.add(vec.load(x.tau), vec.scale(p.share, vec.sub(tau, vec.load(x.tau))))
        vec.store(x.f, f)
        vec.store(x.tau, tau)
    x.age += dt
    f = vec.add(vec.add(f, vec.load(p.bias)), vec.scale(x.age, vec.load(p.drift)))
    tau = vec.add(tau, vec.load(p.torque_bias))
    if p.noise > 0.0:
        f = vec.add(f, vec.scale(p.noise, noise.normal_vector(x.noise)))
    if p.torque_noise > 0.0:
        tau = vec.add(tau, vec.scale(p.torque_noise, noise.normal_vector(x.noise)))
    if p.dropout > 0.0 and _lost(x, p):
        return
    for i in range(3):
        sig.F_So_S.f[i] = _convert(f[i], p.saturation, p.resolution)
        sig.F_So_S.tau[i] = _convert(tau[i], p.torque_saturation, p.torque_resolution)


@jit
def sensor_step(sig, x, p, dt):
    q_WB = so3.load(sig.X_WB_true.q)
    q_WS = so3.multiply(q_WB, so3.load(p.q_BS))
    f_W = vec.load(sig.F_Bcm_true_W.f)
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmSo_B))
    tau_W = vec.sub(vec.load(sig.F_Bcm_true_W.tau), vec.cross(arm_W, f_W))
    f_S, tau_S = so3.rotate_back(q_WS, f_W), so3.rotate_back(q_WS, tau_W)
    if p.loaded:
        v, w = vec.load(sig.V_WB_true.v), vec.load(sig.V_WB_true.w)
        accelerations(x.motion, q_WB, v, w, vec.load(p.position), 1.0, dt)
        load_f, load_tau = load_wrench(q_WS, vec.load(x.motion.a), w, vec.load(x.motion.alpha), p.load)
        f_S, tau_S = vec.add(f_S, load_f), vec.add(tau_S, load_tau)
    measure(sig, x, p, f_S, tau_S, dt)


@jit
def target_sensor_step(sig, x, p, dt):
    """The contact force acts on the target at the tip; the sensor's frame is fixed in W."""
    if not p.rotates:  # one axis: a single number
        measure(sig, x, p, vec.load(sig.F_C_true_W), (0.0, 0.0, 0.0), dt)
        return
    q_WS = so3.load(p.q_BS)
    f_W = vec.load(sig.F_C_true_W)
    arm_W = vec.sub(vec.load(sig.p_C_true_W), vec.load(p.p_BcmSo_B))
    measure(sig, x, p, so3.rotate_back(q_WS, f_W), so3.rotate_back(q_WS, vec.cross(arm_W, f_W)), dt)


@dataclass(frozen=True)
class MountedSensor:
    """A sensor as used by a system."""

    sensor: Sensor
    rotates: bool
    centre_of_mass: Metre3 = (0.0, 0.0, 0.0)  # of the body that carries it, in its frame


def _pack_channel(p: np.record, mounted: MountedSensor, loop: Cycle) -> None:
    sensor, dt = mounted.sensor, loop.period
    p.samples = sensor.lateness / dt
    p.share = sensor.share(dt)
    for name in (
        "noise",
        "torque_noise",
        "bias",
        "drift",
        "dropout",
        "dropout_length",
        "torque_bias",
        "saturation",
        "torque_saturation",
        "resolution",
        "torque_resolution",
    ):
        p[name] = getattr(sensor, name)
    p.q_BS = sensor.attitude
    p.rotates = mounted.rotates
    p.key, p.loss_key = loop.noise_key("sensor.noise"), loop.noise_key("sensor.dropout")


def _pack(p: np.record, mounted: MountedSensor, loop: Cycle) -> None:
    _pack_channel(p, mounted, loop)
    sensor = mounted.sensor
    p.position = sensor.position
    p.loaded = sensor.load is not None
    if sensor.load is not None:
        for name in ("mass", "centre_of_mass", "inertia", "gravity"):
            p.load[name] = getattr(sensor.load, name)
    p.p_BcmSo_B = [a - c for a, c in zip(sensor.position, mounted.centre_of_mass, strict=True)]


def _pack_target(p: np.record, mounted: MountedSensor, loop: Cycle) -> None:
    _pack_channel(p, mounted, loop)
    p.p_BcmSo_B = mounted.sensor.position


@jit
def _reset(sig, x, p):
    x.noise.key, x.losses.key = p.key, p.loss_key


_STATE = record(line=delay.WRENCH_LINE, f=3, tau=3, noise=noise.NOISE, motion=MOTION, age="f8", lost="i8", losses=noise.NOISE)
_PARAMS = record(
    samples="f8",
    share="f8",
    noise="f8",
    torque_noise="f8",
    bias=3,
    drift=3,
    torque_bias=3,
    saturation="f8",
    torque_saturation="f8",
    resolution="f8",
    torque_resolution="f8",
    q_BS=4,
    p_BcmSo_B=3,
    rotates="i8",
    key="u8",
    dropout="f8",
    dropout_length="i8",
    loss_key="u8",
    loaded="i8",
    load=LOAD,
    position=3,
)

SENSOR = StageKind(
    "sensor",
    sensor_step,
    reads=("F_Bcm_true_W", "X_WB_true", "V_WB_true"),
    writes=("F_So_S",),
    state=_STATE,
    params=_PARAMS,
    pack=_pack,
    reset=_reset,
    looks_back=lambda p: p["samples"],
)
TARGET_SENSOR = StageKind(
    "target-sensor",
    target_sensor_step,
    reads=("F_C_true_W", "p_C_true_W"),
    writes=("F_So_S",),
    state=_STATE,
    params=_PARAMS,
    pack=_pack_target,
    reset=_reset,
    looks_back=lambda p: p["samples"],
)
