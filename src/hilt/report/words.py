"""Readable numbers: 0.00455 J is 4.55 mJ."""

import math

from hilt.core.missing import Missing

# Units by the ending of a metric's name, longer endings first.
UNITS = {
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
_NIL = {"N": 1e-6, "N·m": 1e-6, "m": 1e-8, "m/s": 1e-8, "rad": 1e-8, "rad/s": 1e-8, "s": 1e-9, "J": 1e-10}  # less is rounding
_COARSE = {"m", "m/s", "rad", "rad/s"}  # not below µ: nanometres are not practical here
_PREFIXES = {-4: "p", -3: "n", -2: "µ", -1: "m", 0: "", 1: "k", 2: "M", 3: "G"}
_ON_AXES = {-2: "µ", -1: "m", 0: "", 1: "k", 2: "M"}


def si(value: float, unit: str, digits: int = 4) -> str:
    """Return a value with a prefix that leaves one to three digits before the decimal point."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return f"{value} {unit}"
    if abs(value) < _NIL.get(unit, 1e-13):
        return f"0 {unit}"
    if unit.startswith("kg"):
        return f"{value:.{max(digits, 4)}g} {unit}"
    power = _power(value, unit)
    number = value / 1000.0**power
    if abs(number) < 0.1:  # below the smallest prefix in use
        return f"{number:.1g} {_PREFIXES[power]}{unit}"
    whole = f"{number:.0f}" if abs(number) >= 99.5 and digits <= 3 else f"{number:.{digits}g}"
    return f"{whole} {_PREFIXES[power]}{unit}"


def _power(value: float, unit: str) -> int:
    """Return the power of 1000 for the prefix."""
    least = -2 if unit in _COARSE else min(_PREFIXES)
    most = 1 if unit.startswith("m") else max(_PREFIXES)  # no megametres
    return min(max(math.floor(math.log10(abs(value)) / 3), least), most)


def metric(name: str, value: object, digits: int = 4) -> str:
    """Return a metric with the unit in its name (`drift_m`, `e_obs_min_J`), or why it has no value; lists entry by entry."""
    if isinstance(value, list):
        return _alike(name, value, digits) or ", ".join(metric(name, each, digits) for each in value) or "none"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, Missing):
        return f"{NONE} ({value.reason})"
    for ending, unit in UNITS.items():
        if name.endswith(ending):
            return si(float(value), unit, digits)
    return "0" if abs(value) < 1e-9 else f"{value:.{digits}g}"


def _alike(name: str, values: list[object], digits: int) -> str:
    """Use the largest entry's prefix where entries would have different ones: 82.9 mm, 0.8 mm; else return nothing."""
    unit = next((unit for ending, unit in UNITS.items() if name.endswith(ending)), "")
    found = [float(each) for each in values if isinstance(each, int | float) and math.isfinite(each)]
    sizes = [abs(each) for each in found if abs(each) >= _NIL.get(unit, 1e-13)]
    if not unit or len(found) < len(values) or len({_power(size, unit) for size in sizes}) < 2:
        return ""
    power = _power(max(sizes), unit)
    decimals = max(0, digits - 1 - math.floor(math.log10(max(sizes) / 1000.0**power)))
    return ", ".join(f"{each / 1000.0**power:.{decimals}f} {_PREFIXES[power]}{unit}" for each in found)


def percent(share: float) -> str:
    """Return a share in percent: 0.0123 is 1.2 %."""
    if math.isnan(share):
        return NONE
    size = abs(100.0 * share)
    if size < 0.05:
        return "0.0 %"
    return f"{100.0 * share:.1f} %" if size < 10 else f"{100.0 * share:.0f} %"


def off_one(value: object) -> str:
    """Return how far a ratio is from the ideal 1: 1.012 is +1.2 %, 41 is 41 times; of a list each, or one if all are equal."""
    if isinstance(value, list):
        texts = [off_one(each) for each in value]
        if len(texts) > 1 and len(set(texts)) == 1:
            return f"{texts[0]}, all {len(texts)}"
        return ", ".join(texts) or "none"
    if isinstance(value, Missing) or not isinstance(value, int | float):
        return metric("", value)
    if math.isnan(value):
        return NONE
    if value >= 10.0:
        return f"{value:.3g} times" if value < 1000.0 else f"{value:.0f} times"
    share = percent(value - 1.0)
    return share if value <= 1.0 or share == "0.0 %" else f"+{share}"


def prefixed(largest: float, unit: str) -> tuple[float, str]:
    """Return the factor to multiply by on an axis, and the unit then: 0.0003 J is drawn as 300 µJ."""
    if not 0.0 < largest < math.inf:
        return 1.0, unit
    power = min(max(math.floor(math.log10(largest) / 3), min(_ON_AXES)), max(_ON_AXES))
    return 1000.0**-power, f"{_ON_AXES[power]}{unit}"
