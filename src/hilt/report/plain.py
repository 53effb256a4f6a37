"""The report of a system without its own: speed and force, found by signal name, its energy, and lateness of its ticks."""

from collections.abc import Iterator

import numpy as np

from hilt.core.signals import TABLE, leaves, unit_of
from hilt.job import Result
from hilt.report import colours, figure
from hilt.report.figure import Picture, line, mark_fault, panels
from hilt.report.pictures import energy_made, lateness

# The first of each that the system has is drawn.
SPEEDS = ("V_WBcm.v", "v_C_des_W", "v_s", "V_WB_cmd.v", "X_WBcm.p", "x_s")
FORCES = ("F_Bcm_W.f", "F_mea_W", "f_s", "F_So_S.f", "F_h_H.f")


def headline(result: Result) -> Picture | None:
    """Draw speed and force, if the system has such signals."""
    flat = leaves(result.system.row)
    names = [name for wanted in (SPEEDS, FORCES) if (name := next((each for each in wanted if each in flat), None))]
    if not names:
        return None
    fig, axes = panels(len(names), 2.2, 10.0)
    for panel, name in zip(axes, names, strict=True):
        _curves(panel, result, name)
    axes[-1].set(xlabel="time [s]")
    mark_fault(axes, result.fault.t if result.fault else None)
    return Picture("Speed and force", f"{'; '.join(_meaning(name) for name in names)}.", fig)


def _curves(panel: figure.Axes, result: Result, name: str) -> None:
    top, _, part = name.partition(".")
    values = result.rows[top][part] if part else result.rows[top]
    values = np.atleast_2d(values.T).T
    for i in range(values.shape[1]):
        line(panel, result.rows["t"], values[:, i], "xyz"[i : i + 1] or str(i + 1), color=colours.of(i))
    panel.set(ylabel=f"{name} [{unit_of(name)}]")
    if values.shape[1] > 1:
        figure.legend(panel)


def _meaning(name: str) -> str:
    return f"{name}: {TABLE[name.partition('.')[0]].meaning}"


def pictures(result: Result) -> Iterator[Picture]:
    t = result.rows["t"]
    yield from energy_made(result, t, result.fault.t if result.fault else None)
    yield from lateness(result.rows, t)
