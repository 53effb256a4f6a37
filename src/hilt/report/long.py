"""Pictures of a run with too many rows to draw: smallest and largest value per interval."""

from collections.abc import Iterator

import numpy as np

from hilt.core.signals import TABLE, leaves, unit_of
from hilt.job import Result
from hilt.report import figure
from hilt.report.colours import AXES, MEASURED
from hilt.report.figure import Picture, mark_fault
from hilt.report.pictures import energy_made
from hilt.report.plain import FORCES, SPEEDS

# What is drawn, if the system has the signals.
SIGNALS = (
    ("Where it is", ("X_WBcm.p", "p_C_des_W", "x_s", "e_p_N")),
    ("How fast it moves", ("V_WBcm.v", "v_C_des_W")),
    ("Forces", ("F_Bcm_W.f", "F_mea_W", "f_s", "f_vir", "f_m", "F_h_raw_H.f")),
    ("Energies", ("H", "E_obs", "E_tank", "E_audit")),
    ("Lateness", ("lateness", "tick_time")),
)


def sentence(result: Result) -> str:
    """Say what is drawn and what is not."""
    assert result.survey is not None
    return (
        "The run is too long to draw every row: the figures show the range of each signal per interval, and the energy at "
        f"every {result.survey.every}th row. The metrics and the ledger use all rows."
    )


def headline(result: Result) -> Picture | None:
    """Ranges of speed and force."""
    flat = leaves(result.system.row)
    names = [name for wanted in (SPEEDS, FORCES) if (name := next((each for each in wanted if each in flat), None))]
    stop = float(result.rows["t"][-1]) if result.fault is not None else None
    return _envelopes(result, "Speed and force", names, stop, 10.0) if names else None


def pictures(result: Result) -> Iterator[Picture]:
    """Draw where the energy was made, and envelopes of some signals."""
    stop = float(result.rows["t"][-1]) if result.fault is not None else None
    yield from energy_made(result, result.rows["t"], stop)
    flat = leaves(result.system.row)
    for title, names in SIGNALS:
        found = [name for name in names if name in flat]
        if found:
            yield _envelopes(result, title, found, stop)


def _envelopes(result: Result, title: str, names: list[str], stop: float | None, width: float = 7.2) -> Picture:
    assert result.survey is not None
    fig, axes = figure.panels(len(names), 1.5, width)
    for panel, name in zip(axes, names, strict=True):
        t, low, high = result.survey.extremes(name)
        low, high = (np.where(np.abs(each) < 1e150, each, np.nan) for each in (low, high))
        for i in range(low.shape[1]):
            colour = AXES[i % len(AXES)] if low.shape[1] > 1 else MEASURED
            panel.fill_between(t, low[:, i], high[:, i], color=colour, alpha=0.5, linewidth=0.6, label="xyz"[i : i + 1])
        panel.set(ylabel=f"{name} [{unit_of(name)}]")
        if low.shape[1] > 1:
            figure.legend(panel)
    axes[-1].set(xlabel="time [s]")
    mark_fault(axes, stop)
    meanings = "; ".join(f"{name}: {TABLE[name.partition('.')[0]].meaning}" for name in names)
    return Picture(title, f"Smallest and largest value per interval. {meanings}.", fig)
