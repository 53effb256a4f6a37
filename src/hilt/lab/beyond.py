"""Check whether dead time and second order explain a robot's response; if not, say by how much, and what explains it better.

The residual of the fit is pure noise only if the errors of neighbouring cycles are uncorrelated: with their correlation ρ, the
model misses √ρ of the residual's rms. If that exceeds 0.5 % of the motion, the model does not fit this robot, and a simulation
with the fitted parameters predicts the lab only to that accuracy. Then a response of higher order and a mode that the encoders
see are tried.
"""

import math
from dataclasses import dataclass

import numpy as np

from hilt.lab.answer import FLOOR, MODE, ORDERS, Record, fit

MOST = 0.005  # largest misfit, of the motion's rms
CLEARLY = 0.5  # of the misfit: another model must leave less than this of it
WORTH = 0.1 * MOST  # below this, no other model is tried


@dataclass(frozen=True)
class ModelCheck:
    """How well the model fits. Shares are of the rms of the motion."""

    misfit: float = 0.0  # of dead time and second order
    misfit_frequency: float = 0.0  # [Hz], where it is largest
    order: int = 2  # order that explains the record clearly better
    mode_frequency: float = 0.0  # [Hz], of a mode that explains it better; 0 for none
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
    """Return the part of a residual that is not noise, relative to the motion; NaN is left out."""
    r = residual[np.isfinite(residual)]
    power = float(r @ r)
    if power <= len(r) * (0.1 * FLOOR) ** 2:
        return 0.0
    correlation = float(r[1:] @ r[:-1]) / power
    return math.sqrt(max(correlation, 0.0) * power / len(r)) / motion


def strongest(residual: np.ndarray, period: float) -> float:
    """Return the frequency with most of the residual's power [Hz]."""
    spectrum = np.abs(np.fft.rfft(np.nan_to_num(residual)))
    return float(np.argmax(spectrum[1:]) + 1) / (len(residual) * period)


def look(record: Record, stretches: list[slice], lag: float, theta: np.ndarray, residual: np.ndarray) -> ModelCheck:
    """Check the fitted second order, given its parameters `theta` and its `residual`; try other models if it misses much."""
    motion = float(np.nanstd(record.y))
    misfit, frequency = missed(residual, motion), strongest(residual, record.period)
    if misfit <= WORTH or len(theta) < 3:
        return ModelCheck(misfit, frequency)

    def left(model: int, start: np.ndarray) -> tuple[float, np.ndarray]:
        found = fit(record, stretches, lag, model, start).x
        return missed(record.residual(found, stretches, model), motion), found

    best = ModelCheck(misfit, frequency, left=misfit)
    for order in ORDERS:
        remaining, _ = left(order, theta + np.array([0.0, math.log(0.5 * order), 0.0]))  # the same total lag
        if remaining < min(CLEARLY * misfit, best.left):
            best = ModelCheck(misfit, frequency, order=order, left=remaining)
    # A mode has three more parameters: it must also be clearly better than a higher order.
    remaining, found = left(MODE, np.append(theta, [math.log(2.0 * math.pi * max(frequency, 1.0)), math.log(0.05), 0.01]))
    if remaining < CLEARLY * best.left:
        best = ModelCheck(misfit, frequency, 2, math.exp(found[3]) / (2.0 * math.pi), math.exp(found[4]), remaining)
    return best
