"""A low-pass on the measured wrench, and the delay that it costs.

    first order    H = 1/(1 + s/ω_c)                      delay at low frequency 1/ω_c
    butterworth    H = 1/(1 + √2 s/ω_c + (s/ω_c)²)        √2/ω_c

discretised by s = 2/T (z - 1)/(z + 1), not pre-warped: the delay at low frequency, which matters to the loop, is exactly
that of the continuous filter for any T, and -3 dB is at (2/T) atan(ω_c T/2), a little below ω_c. The filter starts
settled on its first sample: a weight that is already there is not a step. After a force that falls with slope S and ends, the
Butterworth filter's output is S d e^(-θ) cos θ with d its delay and θ = ω_c t/√2: it undershoots to -S d e^(-3π/4)/√2.
"""

import math
from typing import Literal

import numpy as np
from pydantic import Field, model_validator

from hilt.compiled import jit
from hilt.core.faults import Unfit
from hilt.core.scenario import Section
from hilt.core.signals import record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Hertz, Positive
from hilt.maths import vec

ORDER = {"none": 0, "first-order": 1, "butterworth": 2}


class LowPass(Section):
    """Low-pass that removes noise from the measured wrench before it is used."""

    kind: Literal["none", "first-order", "butterworth"] = Field(default="none", description="butterworth is second-order")
    cutoff: Positive[Hertz] | None = Field(default=None, description="cutoff frequency, -3 dB")

    @model_validator(mode="after")
    def _whole(self) -> "LowPass":
        if self.kind != "none" and self.cutoff is None:
            raise Unfit(
                f"force_filter.cutoff is missing; a {self.kind} filter needs a cutoff in Hz; add it", "force_filter.cutoff"
            )
        if self.kind == "none" and self.cutoff is not None:
            raise Unfit(
                f"force_filter.cutoff is {self.cutoff:g} Hz but force_filter.kind is 'none'; "
                "choose 'first-order' or 'butterworth', or leave it out",
                "force_filter.cutoff",
                "force_filter.kind",
            )
        return self

    @property
    def delay(self) -> float:
        """Delay at low frequency [s]."""
        if self.cutoff is None:
            return 0.0
        return {1: 1.0, 2: math.sqrt(2.0)}[ORDER[self.kind]] / (2.0 * math.pi * self.cutoff)

    @property
    def swing(self) -> float:
        """Undershoot after a force that falls and ends, per N/s of its slope [s]."""
        return self.delay * math.exp(-0.75 * math.pi) / math.sqrt(2.0) if self.kind == "butterworth" else 0.0

    def check(self, period: float) -> None:
        """Check that the cutoff is below the Nyquist frequency."""
        if self.cutoff is not None and self.cutoff >= 0.5 / period:
            raise Unfit(
                f"force_filter.cutoff is {self.cutoff:g} Hz; at loop.period = {period:g} s it must be below "
                f"{0.5 / period:g} Hz; lower it or shorten loop.period",
                "force_filter.cutoff",
                "loop.period",
            )

    def coefficients(self, period: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """b0, b1, b2 and a1, a2 of y = b0 u + b1 u⁻ + b2 u⁻⁻ - a1 y⁻ - a2 y⁻⁻."""
        if self.cutoff is None:
            return (1.0, 0.0, 0.0), (0.0, 0.0)
        c = 1.0 / (math.pi * self.cutoff * period)  # 2/(ω_c T): s/ω_c = c (z - 1)/(z + 1)
        if ORDER[self.kind] == 1:
            whole = 1.0 + c
            return (1.0 / whole, 1.0 / whole, 0.0), ((1.0 - c) / whole, 0.0)
        damping = math.sqrt(2.0) * c
        whole = 1.0 + damping + c * c
        return (1.0 / whole, 2.0 / whole, 1.0 / whole), (2.0 * (1.0 - c * c) / whole, (1.0 - damping + c * c) / whole)


@jit
def _pass(p, u, near, far):
    """One step of three channels, transposed direct form: y = b0 u + near; near and far carry the past samples."""
    y = vec.add(vec.scale(p.b[0], u), vec.load(near))
    vec.store(near, vec.add(vec.sub(vec.scale(p.b[1], u), vec.scale(p.a[0], y)), vec.load(far)))
    vec.store(far, vec.sub(vec.scale(p.b[2], u), vec.scale(p.a[1], y)))
    return y


@jit
def _settle(p, u, near, far):
    """The settled state for a constant u."""
    vec.store(near, vec.scale(1.0 - p.b[0], u))
    vec.store(far, vec.scale(p.b[2] - p.a[1], u))


@jit
def low_pass_step(sig, x, p, dt):
    f, tau = vec.load(sig.F_So_S.f), vec.load(sig.F_So_S.tau)
    if p.order > 0:
        if not x.started:
            _settle(p, f, x.near_f, x.far_f)
            _settle(p, tau, x.near_tau, x.far_tau)
            x.started = 1
        f, tau = _pass(p, f, x.near_f, x.far_f), _pass(p, tau, x.near_tau, x.far_tau)
    vec.store(sig.F_So_filt_S.f, f)
    vec.store(sig.F_So_filt_S.tau, tau)


def _pack(p: np.record, low_pass: LowPass, loop: Cycle) -> None:
    p.order = ORDER[low_pass.kind]
    p.b, p.a = low_pass.coefficients(loop.period)


LOW_PASS = StageKind(
    "low-pass",
    low_pass_step,
    reads=("F_So_S",),
    writes=("F_So_filt_S",),
    state=record(near_f=3, far_f=3, near_tau=3, far_tau=3, started="i8"),
    params=record(order="i8", b=3, a=2),
    pack=_pack,
)
