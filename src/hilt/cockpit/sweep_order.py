"""A sweep ordered by a page: limited, and checked as `hilt sweep` does, with an estimate before anything starts."""

from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from hilt.cockpit import desk
from hilt.cockpit.desk import MOST_KEY, MOST_LETTERS, Error
from hilt.cockpit.wire import without_paths
from hilt.core.clock import stamp
from hilt.core.faults import InputError
from hilt.sweeps import limits, making
from hilt.sweeps import sweep as sweeps
from hilt.sweeps.making import Request
from hilt.sweeps.space import Space
from hilt.sweeps.table import Plan, library

MOST_AXES, MOST_SEEDS = 2, 1000
MOST_SCENARIOS = 200_000
EXAMPLE = "2..40 ms:39"


class AxisText(BaseModel):
    model_config = ConfigDict(extra="forbid")
    key: str = Field(max_length=MOST_KEY)
    values: str = Field(max_length=MOST_LETTERS)


class SweepOrder(BaseModel):
    """A scenario with some values changed, the texts of its axes, and how many seeds."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
    system: str = Field(max_length=100)
    scenario: str = Field(max_length=100)
    settings: dict[str, Any] = Field(default_factory=dict, max_length=400)
    over: list[AxisText] = Field(default_factory=list, max_length=MOST_AXES)
    seeds: int | None = Field(default=None, ge=1, le=MOST_SEEDS)

    @property
    def base(self) -> desk.Order:
        """The scenario that all of them start from."""
        return desk.Order(system=self.system, scenario=self.scenario, settings=self.settings)


def check(order: SweepOrder, out: Path) -> dict[str, Any]:
    """Return what is wrong with an order, key by key; or what it will take, and the name of its folder."""
    if errors := desk.check(order.base):
        return {"ok": False, "errors": errors}
    try:
        library("pyarrow.parquet")
        space = space_of(order)
        found = limits.estimate(space.system, space.base, space.count, len(space.keys))
        if found.scenarios > MOST_SCENARIOS:
            raise InputError(
                f"this would be {found.sentence}; the cockpit computes at most {MOST_SCENARIOS:,}; "
                "give fewer values to the axes, or use hilt sweep"
            )
        limits.check(found, out)
    except InputError as error:
        return {"ok": False, "errors": [_error(error)]}
    estimate = {"scenarios": found.scenarios, "seconds": found.seconds, "bytes": found.disk, "sentence": found.sentence}
    return {"ok": True, "estimate": estimate, "name": _new_name(out, f"{space.system.name}-{space.name}-sweep-{stamp()}")}


def _error(error: InputError) -> Error:
    return {"key": error.key, "sentence": without_paths(str(error))}


def _new_name(out: Path, stem: str) -> str:
    name, number = stem, 1
    while (out / name).exists():
        number += 1
        name = f"{stem}-{number}"
    return name


def space_of(order: SweepOrder) -> Space:
    """Return the scenarios of an order; an InputError says what is wrong."""
    for axis in order.over:
        if not axis.key.strip():
            raise InputError(f"an axis has the values {axis.values!r} but no key; choose one, such as seed")
        if not axis.values.strip():
            raise InputError(f"{axis.key} has no values; write them like {EXAMPLE}, or none,pida", key=axis.key)
    if not order.over and order.seeds is None:
        raise InputError(f"there is no axis; choose a key and write its values like {EXAMPLE}, or give a number of seeds")
    desk.shipped_system(order.system, order.scenario)
    over = tuple((axis.key.strip(), axis.values.strip()) for axis in order.over)
    settings = desk.given({key: value for key, value in order.settings.items() if value is not None})
    return making.find(order.system, order.scenario, settings, Request(over, order.seeds))


def plan_of(order: SweepOrder) -> Plan:
    space = space_of(order)
    return Plan(space, None, sweeps.chunk_size(space.count))
