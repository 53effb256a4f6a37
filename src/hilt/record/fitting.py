"""Recordings of other versions: their rows with the signals of this version, so that they can be opened, shown and plotted.

A renamed signal is found by its old name. One that the recording lacks, or has in another shape, is NaN (0 for an integer); one
that this version does not know is left out. Such rows can be shown but not replayed: a tick cannot be compared with one that
had other signals.
"""

from collections.abc import Iterator

import numpy as np

from hilt.core.faults import InputError
from hilt.core.signals import leaves
from hilt.record.reading import Recording

RENAMED = {  # current name: previous name
    "X_WB_cmd": "X_WB_des",
    "V_WB_cmd": "V_WB_des",
    "X_NT": "X_NB",  # docking: B is the mock-up
    "V_NT": "V_NB",
    # aerial: the simulated world was called W; poses of the vehicle were those of the next row
    "X_Nb_meas": "X_Wb_meas",
    "V_Nb_meas": "V_Wb_meas",
    "X_NE": "X_WE",
    "V_NE": "V_WE",
    "F_E_N": "F_E_W",
    "p_bd_N": "p_bd_W",
    "v_bd_N": "v_bd_W",
    "a_bd_N": "a_bd_W",
    "q_Nbd": "q_Wbd",
    "e_p_N": "e_p_W",
    "f_hat_N": "f_hat_W",
    "wind_N": "wind_W",
    "push_N": "push_W",
    "X_HB_rest": "X_HT_rest",
}
NAMED = 4  # signals in a sentence


class Fitted(Recording):
    """A recording whose rows get the signals of this version when they are read."""

    def __init__(self, found: Recording, row: np.dtype) -> None:
        self.path, self.origin, self.result, self.dtype = found.path, found.origin, found.result, row
        self._found, self._rows = found, None
        self._sources = _sources(row, found.dtype)
        self.damage = found.damage

    @property
    def rows(self) -> np.ndarray:
        if self._rows is None:
            self._rows = self._fit(self._found.rows)
            self.damage = self._found.damage
        return self._rows

    @property
    def nbytes(self) -> int:
        return self._found.nbytes * self.dtype.itemsize // self._found.dtype.itemsize

    def chunks(self) -> Iterator[np.ndarray]:
        for rows in self._found.chunks():
            yield self._fit(rows)
        self.damage = self._found.damage

    @property
    def missing(self) -> list[str]:
        """Signals of this version that the recording does not have."""
        return [name for name, source in self._sources.items() if source is None]

    def _fit(self, rows: np.ndarray) -> np.ndarray:
        fitted = np.zeros(len(rows), self.dtype)
        for name, source in self._sources.items():
            target, last = _column(fitted, name)
            if source is not None:
                origin, field = _column(rows, source)
                target[last] = origin[field]
            elif target[last].dtype.kind == "f":
                target[last] = np.nan
        return fitted


def _column(rows: np.ndarray, leaf: str) -> tuple[np.ndarray, str]:
    """The record that contains a leaf such as `X_WB_cmd.p`, and its name there."""
    *outer, last = leaf.split(".")
    for name in outer:
        rows = rows[name]
    return rows, last


def _sources(row: np.dtype, recorded: np.dtype) -> dict[str, str | None]:
    """For every leaf of a row, the leaf of the recording that it comes from."""
    there = leaves(recorded)
    found: dict[str, str | None] = {}
    for name, (_, number, shape) in leaves(row).items():
        head, dot, rest = name.partition(".")
        names = (name, f"{RENAMED.get(head, head)}{dot}{rest}")
        found[name] = next((each for each in names if each in there and there[each][1:] == (number, shape)), None)
    return found


def fitted(found: Recording, row: np.dtype) -> Recording:
    """The recording with the signals of this version; the recording itself if it already has them."""
    return found if found.dtype == row else Fitted(found, row)


def check_same(found: Recording, row: np.dtype) -> None:
    """Refuse to replay a recording with other signals."""
    if found.dtype == row:
        return
    here, there = ({name.partition(".")[0] for name in leaves(kind)} for kind in (row, found.dtype))
    parts = [
        f"{words} {', '.join(sorted(names)[:NAMED])}{' …' if len(names) > NAMED else ''}"
        for words, names in (("it lacks", here - there), ("this version has no", there - here))
        if names
    ]
    raise InputError(
        f"{found.path} was made by hilt {found.version} with other signals ({'; '.join(parts) or 'in another order'}), so its "
        "ticks cannot be compared with those of this version; replay it with the version that made it, or use hilt show"
    )
