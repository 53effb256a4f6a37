"""From the sensor's reading to the wrench of the human: bias, own load, frame, filter.

    F_raw = R (F_So - bias) - load,  moved to the tool's origin         y += (1 - e^(-ω_c T)) (F_raw - y)

The bias is measured explicitly: the mean of `bias_samples` readings at the start, and again whenever `bias_request` rises,
with the load's weight at that pose subtracted first. Until it is known the wrench is 0 and `bias_ready` is 0. The load is
what is attached to the sensor from the start (flange, gripper); a tool that the human mounts later is meant to be felt.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.gravity import STANDARD_GRAVITY
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Count, Kilogram, Metre3, Quaternion, RadianPerSecond
from hilt.maths import so3, vec


class ForceFilter(Section):
    """Processing of the measured wrench before it is used."""

    bandwidth: RadianPerSecond = Field(
        gt=0, description="of the first-order filter; below 100 rad/s stiff hands may become unstable"
    )
    bias_samples: Count = Field(default=500, ge=0, description="readings averaged for the bias; 0 takes the sensor as unbiased")
    load_mass: Kilogram = Field(default=0.0, ge=0, description="of the load attached to the sensor from the start")
    load_centre: Metre3 = Field(default=(0.0, 0.0, 0.0), description="centre of mass of that load, in the tool's frame")

    def check(self, period: float) -> None:
        """The bandwidth must not exceed the Nyquist frequency."""
        nyquist = math.pi / period
        if self.bandwidth > nyquist:
            raise Unfit(
                f"force_filter.bandwidth is {self.bandwidth:g} rad/s; at loop.period = {period:g} s it must be at most the "
                f"Nyquist frequency of {nyquist:g} rad/s; lower it or shorten loop.period",
                "force_filter.bandwidth",
                "loop.period",
            )


def filter_share(bandwidth: float, period: float) -> float:
    """Exact step of a first-order lag for a held input."""
    return 1.0 - math.exp(-bandwidth * period)


@jit
def _take_bias(sig, x, p, f_S, tau_S):
    """Accumulate readings; their mean becomes the bias."""
    for i in range(3):
        x.sum_f[i] += f_S[i]
        x.sum_tau[i] += tau_S[i]
    x.count += 1
    if x.count >= p.samples:
        for i in range(3):
            x.bias_f[i] = x.sum_f[i] / x.count
            x.bias_tau[i] = x.sum_tau[i] / x.count
        sig.bias_ready = 1


@jit
def _forget_bias(sig, x):
    x.count = 0
    for i in range(3):
        x.sum_f[i] = x.sum_tau[i] = 0.0
    sig.bias_ready = 0


@jit
def force_filter_step(sig, x, p, dt):
    if sig.bias_request == 1 and x.request != 1 and p.samples > 0:
        _forget_bias(sig, x)
    x.request = sig.bias_request
    q_HB = so3.load(sig.X_WB_meas.q)
    q_HS = so3.multiply(q_HB, so3.load(p.q_BS))
    weight = (0.0, 0.0, -p.load_mass * STANDARD_GRAVITY)
    arm = so3.rotate(q_HB, vec.load(p.p_BoSo_B))
    lever = so3.rotate(q_HB, vec.load(p.load_centre))
    f_S, tau_S = vec.load(sig.F_So_S.f), vec.load(sig.F_So_S.tau)
    f, tau = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if not sig.bias_ready:
        load_f = so3.rotate_back(q_HS, weight)
        load_tau = so3.rotate_back(q_HS, vec.cross(vec.sub(lever, arm), weight))
        _take_bias(sig, x, p, vec.sub(f_S, load_f), vec.sub(tau_S, load_tau))
    else:
        f = so3.rotate(q_HS, vec.sub(f_S, vec.load(x.bias_f)))
        tau = vec.add(so3.rotate(q_HS, vec.sub(tau_S, vec.load(x.bias_tau))), vec.cross(arm, f))
        tau = vec.sub(tau, vec.cross(lever, weight))
        f = vec.sub(f, weight)
    vec.store(sig.F_h_raw_H.f, f)
    vec.store(sig.F_h_raw_H.tau, tau)
    for i in range(3):
        x.f[i] += p.share * (f[i] - x.f[i])
        x.tau[i] += p.share * (tau[i] - x.tau[i])
        sig.F_h_H.f[i] = x.f[i]
        sig.F_h_H.tau[i] = x.tau[i]


@dataclass(frozen=True)
class FilteredSensor:
    """The filter, and where the sensor sits, in the tool's frame."""

    section: ForceFilter
    position: Metre3
    attitude: Quaternion


def _pack(p: np.record, config: FilteredSensor, loop: Cycle) -> None:
    given = config.section
    p.samples, p.load_mass, p.load_centre = given.bias_samples, given.load_mass, given.load_centre
    p.share = filter_share(given.bandwidth, loop.period)
    p.q_BS, p.p_BoSo_B = config.attitude, config.position


@jit
def _reset(sig, x, p):
    sig.bias_ready = 1 if p.samples == 0 else 0


FORCE_FILTER = StageKind(
    "force-filter",
    force_filter_step,
    reads=("F_So_S", "X_WB_meas", "bias_request", "bias_ready"),
    writes=("F_h_raw_H", "F_h_H", "bias_ready"),
    state=record(f=3, tau=3, bias_f=3, bias_tau=3, sum_f=3, sum_tau=3, count="i8", request="i8"),
    params=record(samples="i8", share="f8", load_mass="f8", load_centre=3, q_BS=4, p_BoSo_B=3),
    pack=_pack,
    reset=_reset,
)
