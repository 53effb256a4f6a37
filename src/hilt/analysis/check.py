"""Can a scenario work at all? Sentences with the value that is needed, before anything is simulated.

A system provides its own checks (`analysis.check` in its package): closed forms of its physics, compared with the thresholds
and limits that its code actually uses.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hilt.core.scenario import Scenario
from hilt.core.system import System


@dataclass(frozen=True)
class Remark:
    """One check: its subject, whether it passed, a sentence, and the key with the value that is needed (SI)."""

    about: str
    fine: bool
    sentence: str
    key: str = ""
    found: float | None = None
    needed: float | None = None

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def check(system: System, values: Scenario) -> tuple[Remark, ...]:
    """All checks of a scenario, failed ones first; empty if the system has no checks."""
    own = system.part("analysis.check")
    remarks: Sequence[Remark] = own.check(values) if own is not None else ()
    return tuple(sorted(remarks, key=lambda remark: remark.fine))


def summary(remarks: Sequence[Remark]) -> str:
    """One sentence about all checks."""
    wrong = [remark for remark in remarks if not remark.fine]
    if not remarks:
        return "No check applies to this scenario."
    if not wrong:
        return f"No problem found ({len(remarks)} check{'s' if len(remarks) > 1 else ''} passed)."
    return f"This scenario cannot meet its goal: {len(wrong)} of {len(remarks)} checks failed."


_PLAIN = {"s": (1.0, 1e9), "N": (0.01, 1e3), "m/s²": (0.01, 1e6)}  # between these no prefix is used


def si(value: float, unit: str) -> str:
    """A number as written in a sentence, with three digits: 0.0142 s becomes 14.2 ms, 0.3 N stays 0.3 N."""
    low, high = _PLAIN.get(unit, (1.0, 1e3))
    if value == 0.0 or low <= abs(value) < high:
        return f"{value:.3g} {unit}"
    prefix, factor = next(
        (
            (prefix, factor)
            for prefix, factor in (("G", 1e9), ("M", 1e6), ("k", 1e3), ("", 1.0), ("m", 1e-3))
            if abs(value) >= factor
        ),
        ("µ", 1e-6),
    )
    return f"{value / factor:.3g} {prefix}{unit}"


def limit(about: str, what: str, need: float, key: str, value: float, unit: str) -> Remark:
    """A check that a limit is above the value that a normal run needs."""
    if need > value:
        sentence = f"{what} {si(need, unit)}, but {key} is {si(value, unit)}; it must be above {si(need, unit)}."
    else:
        sentence = f"{what} {si(need, unit)}; {key} of {si(value, unit)} allows it."
    return Remark(about, need <= value, sentence, key, value, need)


def workspace(low: Sequence[float], high: Sequence[float], limits: Any) -> list[Remark]:
    """Compare the box that a normal run needs with the allowed one, axis by axis; only violations are reported."""
    found = []
    for axis in range(3):
        for word, reached, allowed, key in (
            ("down to", low[axis], limits.workspace_min[axis], "limits.workspace_min"),
            ("up to", high[axis], limits.workspace_max[axis], "limits.workspace_max"),
        ):
            outside = reached < allowed if word == "down to" else reached > allowed
            if outside:
                sentence = (
                    f"The motion goes {word} {'xyz'[axis]} = {si(reached, 'm')}, but {key} ends at {si(allowed, 'm')}: "
                    f"{'at most' if word == 'down to' else 'at least'} {si(reached, 'm')} is needed."
                )
                found.append(Remark("workspace", False, sentence, key, allowed, reached))
    return found or [Remark("workspace", True, "The motion stays inside the workspace.", "limits.workspace_max")]
