"""Whether dead time and second order explain how a robot answers; if not, by how much, and what explains it better.

What is left after the fit is noise only if neighbouring cycles do not err alike: with the correlation ρ of neighbours, √ρ of
its rms is what the model misses. A robot that misses more than 0.5 % of its motion is not of this kind, and a simulation with
the fitted figures predicts the lab only so far. A response of a higher order and a mode that the encoders see are tried then.
"""

import math
from dataclasses import dataclass

import numpy as np

from hilt.lab.answer import FLOOR, MODE, ORDERS, Record, fit

MOST = 0.005  # of the motion's rms
CLEARLY = 0.5  # of the misfit: another model must leave less than this of it
WORTH = 0.1 * MOST  # below, nothing is sought


@dataclass(frozen=True)
class Beyond:
    """Shares are of the rms of the motion."""

    misfit: float = 0.0  # of dead time and second order
    misfit_frequency: float = 0.0  # [Hz], of most of it
    order: int = 2  # that explains the record clearly better
    mode_frequency: float = 0.0  # [Hz], of a mode that does; 0 for none
    mode_damping_ratio: float = 0.0
    left: float = 0.0  # misfit of that order or mode

    @property
    def fits(self) -> bool:
        return self.misfit <= MOST

    def words(self) -> str:
        """One sentence; empty if there is nothing to say."""
        if self.misfit <= WORTH:
            return ""
        line = f"{'left unexplained' if self.fits else 'DOES NOT FIT:'} {100 * self.misfit:.3g} % of the motion"
        line += f" (at most {100 * MOST:g} %), most of it at {self.misfit_frequency:.3g} Hz"
        if self.mode_frequency > 0.0:
            mode = f"a mode at {self.mode_frequency:.3g} Hz, damping ratio {self.mode_damping_ratio:.2g}"
            return f"{line}; {mode}, leaves {100 * self.left:.2g} %"
        if self.order > 2:
            return f"{line}; a response of order {self.order} leaves {100 * self.left:.2g} %"
        return f"{line}; neither a higher order nor a mode explains it: look for play, friction or limits of its controller"


def missed(residual: np.ndarray, motion: float) -> float:
    """Part of a residual that is no noise, over the motion; NaN is left out."""
    r = residual[np.isfinite(residual)]
    power = float(r @ r)
    if power <= len(r) * (0.1 * FLOOR) ** 2:
        return 0.0
    alike = float(r[1:] @ r[:-1]) / power
    return math.sqrt(max(alike, 0.0) * power / len(r)) / motion


def strongest(residual: np.ndarray, period: float) -> float:
    """Frequency with most of the residual's power [Hz]."""
    spectrum = np.abs(np.fft.rfft(np.nan_to_num(residual)))
    return float(np.argmax(spectrum[1:]) + 1) / (len(residual) * period)


def look(record: Record, stretches: list[slice], lag: float, theta: np.ndarray, residual: np.ndarray) -> Beyond:
    """`theta`: of the second order that was fitted, `residual`: what it leaves."""
    motion = float(np.nanstd(record.y))
    misfit, frequency = missed(residual, motion), strongest(residual, record.period)
    if misfit <= WORTH or len(theta) < 3:
        return Beyond(misfit, frequency)

    def left(model: int, start: np.ndarray) -> tuple[float, np.ndarray]:
        found = fit(record, stretches, lag, model, start).x
        return missed(record.residual(found, stretches, model), motion), found

    best = Beyond(misfit, frequency, left=misfit)
    for order in ORDERS:
        remaining, _ = left(order, theta + np.array([0.0, math.log(0.5 * order), 0.0]))  # as late in all
        if remaining < min(CLEARLY * misfit, best.left):
            best = Beyond(misfit, frequency, order=order, left=remaining)
    # A mode has three more figures: it must be clearly better than an order, too.
    remaining, found = left(MODE, np.append(theta, [math.log(2.0 * math.pi * max(frequency, 1.0)), math.log(0.05), 0.01]))
    if remaining < CLEARLY * best.left:
        best = Beyond(misfit, frequency, 2, math.exp(found[3]) / (2.0 * math.pi), math.exp(found[4]), remaining)
    return best
