"""The force/torque sensor: the true wrench, moved to the sensor, delayed, low-passed, biased and noisy."""

import math

from pydantic import Field

from hilt.compiled import jit
from hilt.maths import delay, noise, so3, vec
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import Hertz, Metre3, Newton, Newton3, NewtonMetre, NewtonMetre3, Quaternion, Second


class Sensor(Section):
    """A six-axis force/torque sensor between robot and mock-up."""

    noise: Newton = Field(default=0.0, ge=0, description="rms of each force axis")
    torque_noise: NewtonMetre = Field(default=0.0, ge=0, description="rms of each torque axis")
    bias: Newton3 = (0.0, 0.0, 0.0)
    torque_bias: NewtonMetre3 = (0.0, 0.0, 0.0)
    bandwidth: Hertz = Field(default=0.0, ge=0, description="corner of a first-order low-pass; 0 for none")
    delay: Second = Field(default=0.0, ge=0)
    position: Metre3 = Field(default=(0.0, 0.0, 0.0), description="origin of the sensor in the body frame")
    attitude: Quaternion = Field(default=(1.0, 0.0, 0.0, 0.0), description="q_BS, w x y z")


@jit
def sensor_step(sig, x, p, dt):
    # The wrench as it is at the sensor's origin, in the sensor's frame.
    q_WB = so3.load(sig.X_WB_true.q)
    q_WS = so3.multiply(q_WB, so3.load(p.q_BS))
    f_W = vec.load(sig.F_Bcm_true_W.f)
    arm_W = so3.rotate(q_WB, vec.load(p.p_BcmSo_B))
    tau_W = vec.sub(vec.load(sig.F_Bcm_true_W.tau), vec.cross(arm_W, f_W))
    delay.push_wrench(x.line, so3.rotate_back(q_WS, f_W), so3.rotate_back(q_WS, tau_W))

    f = delay.read_force(x.line, p.samples)
    tau = delay.read_torque(x.line, p.samples)
    f = vec.add(vec.load(x.f), vec.scale(p.share, vec.sub(f, vec.load(x.f))))
    tau = vec.add(vec.load(x.tau), vec.scale(p.share, vec.sub(tau, vec.load(x.tau))))
    vec.store(x.f, f)
    vec.store(x.tau, tau)

    f = vec.add(f, vec.load(p.bias))
    tau = vec.add(tau, vec.load(p.torque_bias))
    if p.noise > 0.0:
        f = vec.add(f, vec.scale(p.noise, noise.normal_vector(x.noise)))
    if p.torque_noise > 0.0:
        tau = vec.add(tau, vec.scale(p.torque_noise, noise.normal_vector(x.noise)))
    vec.store(sig.F_So_S.f, f)
    vec.store(sig.F_So_S.tau, tau)


def _pack(p, scenario):
    sensor, dt = scenario.sensor, scenario.loop.period
    p.samples = sensor.delay / dt
    # exact step of a first-order lag for a held input
    p.share = 1.0 - math.exp(-2.0 * math.pi * sensor.bandwidth * dt) if sensor.bandwidth > 0 else 1.0
    p.noise, p.torque_noise = sensor.noise, sensor.torque_noise
    p.bias, p.torque_bias = sensor.bias, sensor.torque_bias
    p.q_BS = sensor.attitude
    p.p_BcmSo_B = [a - c for a, c in zip(sensor.position, scenario.body.centre_of_mass, strict=True)]
    p.key = scenario.noise_key("sensor.noise")


@jit
def _reset(sig, x, p):
    x.noise.key = p.key


SENSOR = StageKind(
    "sensor",
    sensor_step,
    reads=("F_Bcm_true_W", "X_WB_true"),
    writes=("F_So_S",),
    state=record(line=delay.WRENCH_LINE, f=3, tau=3, noise=noise.NOISE),
    params=record(
        samples="f8", share="f8", noise="f8", torque_noise="f8", bias=3, torque_bias=3, q_BS=4, p_BcmSo_B=3, key="u8"
    ),
    pack=_pack,
    reset=_reset,
)
