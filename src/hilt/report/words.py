"""Numbers for people: 0.00455 J is 4.55 mJ."""

import math

from hilt.core.missing import Missing

# Units by the ending of a metric's name, longer endings first.
_ENDINGS = {
    "_m_s": "m/s",
    "_rad_s": "rad/s",
    "_Ns_m": "N·s/m",
    "_Ns": "N·s",
    "_Nm": "N·m",
    "_N_m": "N/m",
    "_rad": "rad",
    "_m": "m",
    "_J": "J",
    "_s": "s",
    "_N": "N",
}
NONE = "—"  # where there is no number
_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G"}


def si(value: float, unit: str, digits: int = 4) -> str:
    """A value with a prefix that leaves one to three digits before the point."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return f"{value} {unit}"
    if abs(value) < 1e-13:
        return f"0 {unit}"
    power = min(max(math.floor(math.log10(abs(value)) / 3), min(_PREFIXES)), max(_PREFIXES))
    return f"{value / 1000.0**power:.{digits}g} {_PREFIXES[power]}{unit}"


def metric(name: str, value: object) -> str:
    """A metric by its name's unit (`drift_m`, `e_obs_min_J`), or why there is none; lists entry by entry."""
    if isinstance(value, list):
        return ", ".join(metric(name, each) for each in value) or "none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, Missing):
        return f"{NONE} ({value.reason})"
    for ending, unit in _ENDINGS.items():
        if name.endswith(ending):
            return si(float(value), unit)
    return f"{value:.4g}"
