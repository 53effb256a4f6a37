"""Plots that the cockpit offers first, by name: each has a title, a unit and signals with their labels."""

Plot = tuple[str, str, dict[str, str]]  # title, unit, signal -> label
Presets = dict[str, list[Plot]]


def axes(name: str, label: str, letters: str = "xyz") -> dict[str, str]:
    """Return the entries of a vector with their labels."""
    return {f"{name}.{i}": f"{label} {letter}" for i, letter in enumerate(letters)}
