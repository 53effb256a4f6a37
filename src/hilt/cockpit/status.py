"""The status of a run that a page shows: its energy ledger, and how well the loop keeps time."""

import math
from typing import Any

import numpy as np

from hilt.core.system import System
from hilt.host.realtime import percentiles
from hilt.job import plain

EDGES_US = [0.0, *(step * 10.0**decade for decade in range(6) for step in (1, 2, 5))]
WINDOW = 20_000  # rows that the percentiles are taken over
# A link's delays [s] and lost packets, up and down, by the signals of the systems that have one.
LINKS = (
    ("link_delay_mean", "link_lost", "down_delay_mean", "down_lost"),
    ("wrench_delay_mean", "wrench_lost", "motion_delay_mean", "motion_lost"),
)


def stored(system: System, row: np.ndarray) -> float:
    """Return the energy [J] stored in the simulated bodies at a row, an array of one."""
    return float(system.stored_energy(row)[0])


def ledger(system: System, row: np.ndarray, at_start: float | None) -> dict[str, Any]:
    """Return the ledger of a row, an array of one: every port of the balance, and those that are only watched.

    If the first row was missed, the energy at the start is computed from the balance.
    """
    ports: list[dict[str, Any]] = [
        {
            "name": name.removeprefix("W_"),
            "meaning": words,
            "into": float(row[name]["into"][0]),
            "out": float(row[name]["out"][0]),
            "watched": watched,
        }
        for group, watched in ((system.ledger_ports, False), (system.watched_ports, True))
        for name, words in group.items()
    ]
    now = stored(system, row)
    net = sum(port["into"] - port["out"] for port in ports if not port["watched"])
    found: dict[str, Any] = plain(
        {
            "type": "ledger",
            "t": float(row["t"][0]),
            "ports": ports,
            "stored": now,
            "stored_at_start": now - net if at_start is None else at_start,
        }
    )
    return found


def link(row: np.ndarray) -> dict[str, float] | None:
    """Return mean delay [s] and lost packets in both directions, of a row, an array of one; None if there is no link."""
    names = row.dtype.names or ()
    for up_delay, up_lost, down_delay, down_lost in LINKS:
        if up_delay in names:
            return {
                "up_delay": float(row[up_delay][0]),
                "up_lost": int(row[up_lost][0]),
                "down_delay": float(row[down_delay][0]),
                "down_lost": int(row[down_lost][0]),
            }
    return None


class Timing:
    """How late ticks began and how long they took: histogram, maxima and counts of the run, percentiles of its last rows."""

    def __init__(self, period: float) -> None:
        self.period = period
        self._edges = np.array([*EDGES_US[1:-1]])
        self.clear()

    def clear(self) -> None:
        self._counts = np.zeros(len(EDGES_US) - 1, np.int64)
        self._recent = np.zeros((2, WINDOW), np.float32)
        self._worst = [0.0, 0.0]
        self.rows = self.overruns = 0
        self._link: dict[str, float] | None = None

    def note(self, rows: np.ndarray) -> None:
        if not len(rows):
            return
        times = np.stack((rows["lateness"], rows["tick_time"])) * 1e6
        self._counts += np.bincount(np.searchsorted(self._edges, times[0], side="right"), minlength=len(self._counts))
        self._worst = [max(a, float(b)) for a, b in zip(self._worst, times.max(axis=1), strict=True)]
        self.overruns += int(np.count_nonzero(rows["tick_time"] > self.period))
        last = times[:, -WINDOW:]
        places = (self.rows + len(rows) - last.shape[1] + np.arange(last.shape[1])) % WINDOW
        self._recent[:, places] = last
        self.rows += len(rows)
        self._link = link(rows[-1:])

    def _statistics(self, which: int) -> dict[str, float]:
        recent = self._recent[which, : min(self.rows, WINDOW)]
        found = percentiles(recent) if len(recent) else {"p50": 0.0, "p99": 0.0}
        return {"p50": found["p50"], "p99": found["p99"], "max": round(self._worst[which], 1)}

    def as_json(self, rate_hz: float, lost: int) -> dict[str, Any]:
        found: dict[str, Any] = plain(
            {
                "type": "timing",
                "rate_hz": rate_hz if math.isfinite(rate_hz) else 0.0,
                "period": self.period,
                "rows": self.rows,
                "lost": lost,
                "lateness_us": {"edges": EDGES_US, "counts": self._counts.tolist(), **self._statistics(0)},
                "tick_us": self._statistics(1),
                "overruns": self.overruns,
                "link": self._link,
            }
        )
        return found
