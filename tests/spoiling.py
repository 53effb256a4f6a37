"""Values that must not be read: whatever is computed from them shows it."""

import numpy as np


def spoil(column):
    """NaN in every number, however nested; -1 in integers, which have no NaN."""
    if column.dtype.names:
        for part in column.dtype.names:
            spoil(column[part])
    else:
        column[...] = np.nan if column.dtype.kind == "f" else np.array(-1).astype(column.dtype)


class Poison:
    """An object that raises on any access."""

    def __getattribute__(self, name):
        if name.startswith("__"):
            return object.__getattribute__(self, name)
        raise AssertionError(f"somebody looked at the world: .{name}")
