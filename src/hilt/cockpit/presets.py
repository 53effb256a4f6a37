"""The plots of a system that an engineer wants to see first, with the signals of all recordings shown."""

from collections.abc import Sequence
from typing import Any

from hilt.core.system import System
from hilt.scene.presets import Presets


def of(systems: Sequence[System], prefixes: list[str], labels: list[str]) -> list[dict[str, Any]]:
    """Return the presets of a system; for several recordings of one system, each signal of all of them side by side."""
    if len({system.name for system in systems}) > 1:
        return []
    presets: Presets = getattr(systems[0].part("views.presets"), "PRESETS", {})
    alone = len(prefixes) == 1
    found = []
    for name, plots in presets.items():
        shown = []
        for title, unit, signals in plots:
            each = [(prefix, label, leaf) for leaf in signals for prefix, label in zip(prefixes, labels, strict=True)]
            names = [prefix + leaf for prefix, _, leaf in each]
            words = [signals[leaf] if alone else f"{signals[leaf]} · {label}" for _, label, leaf in each]
            shown.append({"title": title, "unit": unit, "signals": names, "labels": words})
        found.append({"name": name, "plots": shown})
    return found
