"""The signal table and the records made from it."""

import numpy as np
import pytest

from hilt.core import signals
from hilt.systems.freefloat.freefloat import FREEFLOAT


def test_every_signal_has_a_unit_and_a_meaning():
    for name, signal in signals.TABLE.items():
        assert signal.meaning, name
        parts = signal.kind.names or ("",)
        assert all(signals.unit_of(f"{name}.{part}".rstrip(".")) for part in parts), name


def test_a_row_is_made_of_eight_byte_numbers_without_padding():
    """The recording relies on it: the bytes of a row are the bytes of its message."""
    end = 0
    for offset, number, shape in signals.leaves(FREEFLOAT.row).values():
        assert number.itemsize == 8
        assert offset == end
        end += 8 * int(np.prod(shape))
    assert end == FREEFLOAT.row.itemsize


def test_unknown_and_double_signals_are_refused():
    with pytest.raises(ValueError, match="no such signals"):
        signals.row_type(["t", "nonsense"])
    with pytest.raises(ValueError, match="declared already"):
        signals.declare("t", signals.FLOAT, "again")


def test_a_record_without_fields_is_possible():
    assert signals.record().itemsize == 8
