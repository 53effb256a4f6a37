"""The ledger: one primitive for everything that accounts for energy.

A port sums effort times flow. Quadrature: the rectangle rule, W += effort · flow · dt with effort and flow constant over the
tick, so `flow · dt` is the displacement of the tick; a trapezoid is the same call with the mean of two efforts. Energy that
enters and energy that leaves are summed separately: a balanced port may still be busy.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from hilt.compiled import jit
from hilt.maths import vec


@jit
def book(port, effort, flow, dt):
    """W += effort · flow · dt."""
    work = effort * flow * dt
    if work >= 0.0:
        port.into += work
    else:
        port.out -= work


@jit
def book_wrench(port, f, tau, dp, dtheta):
    """W += f · dp + tau · dtheta: the work of a constant wrench over a displacement and a rotation."""
    book(port, vec.dot(f, dp) + vec.dot(tau, dtheta), 1.0, 1.0)


@jit
def energy(port):
    """Net energy of a port: what entered minus what left [J]."""
    return port.into - port.out


@jit
def publish(out, port):
    """Copy a port of a stage's state into the row."""
    out.into = port.into
    out.out = port.out


def kinetic_energy(rows: np.ndarray) -> np.ndarray:
    """Energy stored in the simulated bodies; they have no other energy than kinetic [J]."""
    energy: np.ndarray = rows["H"] + rows["H_rot"]
    return energy


def _lines(last: np.ndarray, ports: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "port": signal.removeprefix("W_"),
            "meaning": words,
            "in_J": float(last[signal]["into"]),
            "out_J": float(last[signal]["out"]),
            "net_J": float(last[signal]["into"] - last[signal]["out"]),
        }
        for signal, words in ports.items()
    ]


def table(
    rows: np.ndarray,
    ports: dict[str, str],
    stored: Callable[[np.ndarray], np.ndarray],
    watched: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The ledger of a run: joules by cause, and whether they add up to the change of the stored energy.

    `ports` maps the signal of each port to its text in the report; `stored(rows)` is the stored energy of each row.
    Watched ports are not part of the balance (they are counted elsewhere or not at all) and are shown beside it.
    """
    lines = _lines(rows[-1], ports)
    energies = stored(rows[[0, -1]])
    change = float(energies[1] - energies[0])
    return {
        "rows": lines,
        "stored_change_J": change,
        "exchanged_J": sum(line["in_J"] + line["out_J"] for line in lines),
        "residual_J": sum(line["net_J"] for line in lines) - change,
        "beside": _lines(rows[-1], watched or {}),
    }
