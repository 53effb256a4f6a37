"""hilt: robotic hardware-in-the-loop simulation with an energy ledger.

    import hilt

    run = hilt.run("docking", "table1", {"robot.delay": "20 ms", "compensate.method": "twin"})
    run.metrics["cov"]               # plain numbers
    run["F_C_true_W"]                # a signal by name: an array with .unit and .t
    run.plot("F_C_true_W")           # axes of matplotlib
    run.frame(), run.array()         # pandas and xarray

Values are text with a unit ("20 ms") or plain numbers in SI units.

    run       a scenario once                              compare   once for each value of a key
    sweep     over ranges of its values, into a table
    map       where it fails over two of its values        margin    how far it is from failing
    load      open a recording as a run                    check     can a scenario work at all?
    scenario  checked values, without running them         system, list_systems
    stage, method, register                                add your own blocks, methods and systems

The classes: Run, Comparison, Sweep, Map, Margin, Scenario, System, Block, StageKind, Section; InputError, FaultWarning,
PluginWarning.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # the compiler takes a second to import: the first call waits for it, not `import hilt`
    from hilt.analysis.check import Remark as Remark
    from hilt.compiled import jit as jit
    from hilt.core.faults import InputError as InputError
    from hilt.core.plugins import PluginWarning as PluginWarning
    from hilt.core.scenario import Scenario as Scenario
    from hilt.core.scenario import Section as Section
    from hilt.core.stage import Block as Block
    from hilt.core.stage import StageKind as StageKind
    from hilt.core.system import System as System
    from hilt.front.comparison import Comparison as Comparison
    from hilt.front.maps import Map as Map
    from hilt.front.maps import Margin as Margin
    from hilt.front.run import FaultWarning as FaultWarning
    from hilt.front.run import Run as Run
    from hilt.front.sweep import Sweep as Sweep

__version__ = "0.1.0"
__all__ = [
    "check",
    "compare",
    "list_systems",
    "load",
    "map",
    "margin",
    "method",
    "register",
    "run",
    "scenario",
    "stage",
    "sweep",
    "system",
]

_ELSEWHERE = {
    "Block": "hilt.core.stage",
    "Comparison": "hilt.front.comparison",
    "FaultWarning": "hilt.front.run",
    "InputError": "hilt.core.faults",
    "Map": "hilt.front.maps",
    "Margin": "hilt.front.maps",
    "PluginWarning": "hilt.core.plugins",
    "Run": "hilt.front.run",
    "Scenario": "hilt.core.scenario",
    "Section": "hilt.core.scenario",
    "StageKind": "hilt.core.stage",
    "Sweep": "hilt.front.sweep",
    "System": "hilt.core.system",
    "jit": "hilt.compiled",
}

Path = str | os.PathLike[str]


def __getattr__(name: str) -> Any:
    """Import names of other modules on first use."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module 'hilt' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(_ELSEWHERE[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_ELSEWHERE})


def run(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    record: Path | None = None,
    rig: Path | None = None,
) -> "Run":
    """Run a scenario once.

    `target` is the name of a system, a scenario file, your own system, or what `hilt.scenario` returned; `scenario` is
    one of the system's scenarios, or a file. `settings` changes values: keys with dots, or nested tables. Nothing is written
    unless `record` names a folder for the recording. With a rig file as `rig` the scenario runs on devices; such a run is
    always recorded (in "runs" by default), and the rig file must have lab.arm = "run".

    A run that ended with a fault warns (`hilt.FaultWarning`); bad input raises `hilt.InputError` with one sentence.

    >>> run = hilt.run("docking", "table1", {"robot.delay": "20 ms", "compensate": {"method": "twin"}})
    >>> run.metrics["cov"]
    """
    from hilt.front import door

    return door.run(target, scenario, settings, record, rig)


def scenario(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
) -> "Scenario":
    """Return the checked values of a scenario, in SI units, without running it.

    >>> values = hilt.scenario("docking", "table1", {"robot.delay": "20 ms"})
    >>> values.robot.delay
    0.02
    >>> run = hilt.run(values)
    """
    from hilt.front import door

    return door.find(target, scenario, door.settings_of(settings))[1]


def check(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
) -> "tuple[Remark, ...]":
    """Check whether a scenario can work at all, without running it. Problems come first, each with the value that is needed.

    >>> for remark in hilt.check("docking", "table1", {"sensor.noise": "5 N"}):
    ...     print(remark.fine, remark.sentence)
    """
    from hilt.analysis import check as checks
    from hilt.front import door

    return checks.check(*door.find(target, scenario, door.settings_of(settings))[:2])


def compare(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    over: Mapping[str, Sequence[Any]],
    record: Path | None = None,
) -> "Comparison":
    """Run a scenario once for each value of `over`; with several keys, once for each combination.

    >>> runs = hilt.compare("docking", "table1", over={"compensate.method": ["none", "pida", "twin"]})
    >>> runs["twin"].metrics["cov"]
    >>> runs.frame()
    """
    from hilt.front import door

    return door.compare(target, scenario, settings, over, record)


def sweep(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    over: "Mapping[str, str | Sequence[Any]] | None" = None,
    seeds: int | None = None,
    draws: int | None = None,
    sampler: str = "random",
    draw_seed: int = 1,
    metrics: Sequence[str] | None = None,
    engine: str = "threads",
    cluster: str | None = None,
    record: Path | None = None,
    resume: bool = False,
    chunk: int | None = None,
) -> "Sweep":
    """Run a scenario over ranges of its values and return a table with one line per run.

    `over` has a text for each key, as `hilt sweep --over` takes it ("2..40 ms:39", "10..300 N/mm:60 log", "none,pida",
    "normal(176,9) N/mm:500"), or a list of values. `seeds` is an axis over seeds; `draws` says how many points are drawn
    jointly, by `sampler`, from distributions without a count. Nothing is written unless `record` names a folder for the
    table; with `resume` a sweep in that folder is continued. `engine` and `cluster` say what computes it (docs/maps.md).

    >>> sweep = hilt.sweep("docking", "table1", over={"robot.delay": "2..40 ms:200", "compensate.method": "none,pida"})
    >>> sweep.frame()
    >>> sweep.plot("cov")
    """
    from hilt.front import door
    from hilt.front import sweep as sweeps
    from hilt.sweeps.making import Request

    source = sweeps.source_of(target, scenario, door.settings_of(settings))
    request = Request(sweeps.over_of(over), seeds, draws, sampler, draw_seed)
    return sweeps.sweep(source, sweeps.Asked(request, metrics, engine, cluster, record, resume, chunk))


def map(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    x: str,
    y: str,
    limits: Sequence[str] = (),
    seeds: int = 1,
    engine: str = "threads",
) -> "Map":
    """Map where a loop fails over two of its keys: the boundary, refined by bisection, with closed-form curves over it.

    `x` and `y` are a key with a range ("robot.delay=2..40 ms:25", "contact.stiffness=10..300 N/mm log"), or a key alone: a
    quarter to four times its value. `limits` say what counts as failure ("diverged", "cof=5%", "tank_min_J<0"); by default
    the system's own. With several seeds a point fails if it fails with any of them.

    >>> found = hilt.map("docking", "table1", {"compensate.method": "none"}, x="robot.delay=0.5..4 ms", y="contact.stiffness")
    >>> found.boundary, found.frame(), found.plot()
    """
    from hilt.front import door, maps

    return maps.draw(door.find(target, scenario, door.settings_of(settings)), x, y, limits, seeds, engine)


def margin(
    target: "Path | System | Scenario",
    scenario: "Path | Scenario | None" = None,
    settings: Mapping[str, Any] | None = None,
    *,
    limits: Sequence[str] = (),
    keys: Sequence[str] = (),
    uncertain: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    samples: int = 64,
    seeds: int = 1,
    engine: str = "threads",
) -> "Margin":
    """Find how far a scenario is from failing, what its metrics depend on, and which method to use.

    `keys` are those whose critical value is searched for, by default the system's own list; `limits` as for `hilt.map`.
    `uncertain` says how well values are known ({"robot.delay": "5%", "contact.stiffness": "normal(176,9) N/mm"}), by default
    ± 10 %, for the Sobol indices of `metrics`; `samples` is their number, a power of 2, and 0 leaves them out.

    >>> found = hilt.margin("docking", "table1", {"compensate.method": "none", "robot.delay": "1 ms"})
    >>> found.critical["robot.delay"].margin, found.advice
    >>> found.frame()
    """
    from hilt.front import door, maps

    chosen = door.find(target, scenario, door.settings_of(settings))
    return maps.find(chosen, limits, keys, uncertain or {}, metrics, samples, seeds, engine)


def load(recording: Path) -> "Run":
    """Open a recording as a run; nothing is simulated.

    >>> run = hilt.load("runs/docking-table1-20260101-120000.mcap")
    """
    from hilt.front import door

    return door.load(recording)


def system(name: str) -> "System":
    """Return the system with this name, to inspect or to change it.

    >>> mine = hilt.system("docking").with_block(MY_STAGE, after="sense")
    >>> run = hilt.run(mine, "table1")
    """
    from hilt.core import registry

    return registry.system(name)


def list_systems() -> "dict[str, System]":
    """Return all systems by name: hilt's own, and those that other packages provide.

    >>> for name, system in hilt.list_systems().items():
    ...     print(name, system.summary, list(system.scenario_files))
    """
    from hilt.core import registry

    return registry.systems()


def stage(
    *,
    name: str | None = None,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    state: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    pack: Callable[..., None] | None = None,
    reset: Callable[..., None] | None = None,
) -> "Callable[[Callable[..., None]], StageKind]":
    """Make a block for a diagram from its step function, which is compiled.

    `state` and `params` name its numbers: "f8", "i8", or the length of a vector. `pack(p, section, loop)` fills `p` once,
    `reset(sig, x, p)` sets the first values. Details: docs/extending.md.

    >>> @hilt.stage(reads=("F_hat_W",), writes=("F_hat_W",))
    ... def half(sig, x, p, dt):
    ...     for i in range(3):
    ...         sig.F_hat_W[i] *= 0.5
    >>> run = hilt.run(hilt.system("docking").with_block(half, after="compensate"), "table1")
    """
    from hilt.front import extending

    parts = {"name": name, "state": state, "params": params, "pack": pack, "reset": reset}
    return lambda step: extending.stage(step, {"reads": tuple(reads), "writes": tuple(writes), **parts})


def method(
    system: str,
    *,
    name: str | None = None,
    reads: Sequence[str] = (),
    writes: Sequence[str] = (),
    state: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    pack: Callable[..., None] | None = None,
    reset: Callable[..., None] | None = None,
) -> "Callable[[Any], StageKind]":
    """Register your own method: a step function or a `StageKind` that scenarios of the system can choose by its name.

    A step function is made into a stage as by `hilt.stage`; `pack(p, scenario, loop)` gets the scenario as the controller
    believes it to be. Details: docs/extending.md.

    >>> @hilt.method("docking", reads=("F_mea_W",), writes=("F_comp_W", "F_hat_W"))
    ... def half(sig, x, p, dt):
    ...     for i in range(3):
    ...         sig.F_comp_W[i] = sig.F_hat_W[i] = 0.5 * sig.F_mea_W[i]
    >>> run = hilt.run("docking", settings={"compensate.method": "half"})
    """
    from hilt.front import extending

    parts = {"name": name, "state": state, "params": params, "pack": pack, "reset": reset}
    return extending.method(system, {"reads": tuple(reads), "writes": tuple(writes), **parts})


def register(system: "System") -> "System":
    """Register your own system by its name, for `hilt.run`, scenario files and recordings; also from a file in HILT_PLUGINS.

    >>> hilt.register(MY_SYSTEM)
    >>> run = hilt.run("my-system")
    """
    from hilt.core import registry

    registry.add(system)
    return system
