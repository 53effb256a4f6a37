"""A job: one scenario run once, from its file to its result."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from hilt import loop, preflight
from hilt.core import clock, missing, places, registry, scenario, verdict
from hilt.core.clock import Clock, FreeClock
from hilt.core.faults import Fault, InputError, shortened
from hilt.core.rig import ReplayRig, Rig, SimulatedRig
from hilt.core.scenario import Scenario, Setting
from hilt.core.signals import leaves
from hilt.core.system import Bench, System
from hilt.core.tuning import Change, RepeatedChanges, Tuning, knobs
from hilt.core.verdict import Verdict
from hilt.host.interrupts import Interrupted
from hilt.metrics import delays
from hilt.metrics.survey import KEPT_BYTES, Survey
from hilt.metrics.tally import Tally, Timing
from hilt.record import fitting, told
from hilt.record.reading import no_rows
from hilt.record.recording import Recorder, Recording, stored
from hilt.record.repeated import Repeated


@dataclass(frozen=True)
class Beside:
    """What a report shows beside a run: other runs by name, with the signals that are drawn, and plain numbers."""

    runs: dict[str, "Result"]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Result:
    """The result of a run."""

    system: System
    scenario: Scenario
    name: str
    rows: np.ndarray
    metrics: dict[str, Any]
    ledger: dict[str, Any]
    fault: Fault | None
    recording: Path | None
    timing: dict[str, Any] | None = None  # of a run on devices
    notes: list[str] | None = None  # what else happened during the run
    changes: list[Change] | None = None  # of live values
    who: list[dict[str, Any]] | None = None  # who armed, started, steered, changed and stopped it (deeds.py)
    survey: Survey | None = None  # of a long run, whose `rows` are only some of its rows
    origin: dict[str, str] | None = None  # the header of its recording
    beside: Beside | None = None  # computed on demand: see analysis/beside.py

    @property
    def verdict(self) -> Verdict:
        """Whether the run met the goal of its scenario, by the rules of its system."""
        return verdict.of(self)

    def as_json(self) -> dict[str, Any]:
        lab: dict[str, Any] = {}
        if self.timing is not None:
            lab = {"timing": plain(self.timing), "faults": self._faults(), "changes": self.changes, "who": plain(self.who)}
        return {
            "system": self.system.name,
            "scenario": self.name,
            "verdict": plain(self.verdict.as_json()),
            "metrics": plain(self.metrics),
            "reasons": missing.reasons(self.metrics),
            "ledger": plain(self.ledger),
            "delays": delays.table(self.system, self.scenario),
            "fault": self.fault and plain(self.fault.as_json()),
            "recording": self.recording and str(self.recording),
            **lab,
        }

    def _faults(self) -> list[dict[str, Any]]:
        """What ended the run, and what happened beside it."""
        fault = [{"name": self.fault.name, "t": self.fault.t, "sentence": self.fault.sentence}] if self.fault else []
        return [*fault, *({"name": "note", "t": None, "sentence": note} for note in self.notes or ())]


def plain(value: Any) -> Any:
    """JSON has no NaN and no infinity: they become null."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


@dataclass(frozen=True)
class Source:
    """A scenario as it was read, with settings applied and not yet checked, and where in its file each key stands."""

    system: System
    tree: dict[str, Any]
    name: str
    places: places.Places

    def checked(self) -> Scenario:
        found: Scenario = scenario.build(self.system.scenario, self.tree, self.places)
        return found


def find(target: str, scenario_name: str | None, settings: Sequence[Setting]) -> tuple[System, Scenario, str]:
    """A system with the name of a shipped scenario, or the path of a scenario file; with settings applied."""
    found = source(target, scenario_name, settings)
    return found.system, found.checked(), found.name


def source(target: str, scenario_name: str | None, settings: Sequence[Setting]) -> Source:
    """The same before it is checked; sweeps vary the values of this unchecked tree."""
    if target.endswith(".toml"):
        path = Path(target)
        tree = scenario.read_toml(path)
        if "system" not in tree:
            raise InputError(f"{target} does not name its system; add a line such as system = 'freefloat'")
        return _source(registry.system(str(tree["system"])), tree, path, settings)
    return source_of(registry.system(target), scenario_name, settings)


def of_system(system: System, scenario_name: str | None, settings: Sequence[Setting]) -> tuple[System, Scenario, str]:
    """One of a system's scenarios, or a scenario file for it, with settings applied."""
    found = source_of(system, scenario_name, settings)
    return system, found.checked(), found.name


def source_of(system: System, scenario_name: str | None, settings: Sequence[Setting]) -> Source:
    files = system.scenario_files
    wanted = scenario_name or system.default_scenario
    if not wanted and not files:
        tree = _defaults(system)
        scenario.apply_settings(tree, settings)
        return Source(system, tree, "defaults", {})
    if wanted.endswith(".toml"):
        path = Path(wanted)
    elif wanted in files:
        path = files[wanted]
    else:
        raise InputError(
            f"{shortened(wanted)!r} is not a scenario of {system.name}; known are {', '.join(files)}; "
            "choose one or give a .toml file"
        )
    return _source(system, scenario.read_toml(path), path, settings)


def _source(system: System, tree: dict[str, Any], path: Path, settings: Sequence[Setting]) -> Source:
    changed = scenario.apply_settings(tree, settings)
    return Source(system, tree, path.stem, places.of(path, changed))


def _defaults(system: System) -> dict[str, Any]:
    """A scenario of default values only; empty if some value has no default."""
    try:
        return dict(scenario.build(system.scenario, {}).model_dump(mode="json"))
    except InputError:
        return {}


def finish(system: System, values: Scenario, name: str, rows: np.ndarray, recording: Path | None = None) -> Result:
    """Metrics, ledger and fault of the rows of a run."""
    tally = Tally(system, values)
    tally.feed(rows)
    return Result(system, values, name, rows, tally.metrics(), tally.ledger(), tally.fault(), recording)


def finish_recorded(system: System, values: Scenario, name: str, recording: Recording, timing: Timing | None = None) -> Result:
    """The same for a recording, chunk by chunk. For a long one the result keeps only some rows; its metrics are of all."""
    tally, survey = Tally(system, values), Survey(system.row) if recording.nbytes > KEPT_BYTES else None
    parts: list[np.ndarray] = []
    for rows in recording.chunks():
        tally.feed(rows)
        if timing is not None:
            timing.feed(rows)
        if survey is None:
            parts.append(rows)
        else:
            survey.feed(rows)
    if not tally.count:
        raise no_rows(recording)
    kept = np.concatenate(parts) if survey is None else survey.rows()
    found = Result(system, values, name, kept, tally.metrics(), tally.ledger(), tally.fault(), recording.path)
    return replace(found, survey=survey, origin=recording.origin)


def simulate(system: System, values: Scenario, name: str = "") -> Result:
    """Run a scenario in the compiled loop, without recording it."""
    preflight.check(preflight.estimate(system, values, recorded=False))
    bench = system.set_up(values)
    log = np.zeros(bench.ticks, system.row)
    count = bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)
    return finish(system, values, name, log[:count])


def check_folder(folder: Path) -> None:
    """Refuse, before a run and without writing anything, a folder that cannot be written to."""
    try:
        existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
        fine = existing.is_dir() and os.access(existing, os.W_OK | os.X_OK)
        why = "" if fine else f"{existing} is not a folder that can be written to"
    except OSError as error:  # a parent folder may be unreadable, or the working folder is gone
        why = str(error.strerror)
    if why:
        raise InputError(f"cannot write to {folder}: {why}; choose another with --out")


def new_path(folder: Path, stem: str) -> Path:
    path, number = folder / f"{stem}.mcap", 1
    while path.exists():
        number += 1
        path = folder / f"{stem}-{number}.mcap"
    return path


def run(
    system: System,
    values: Scenario,
    name: str,
    folder: Path,
    pace: Clock | None = None,
    make_rig: Callable[[System, Bench], Rig] = SimulatedRig,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Run a scenario in the loop and record it."""
    check_folder(folder)
    preflight.check(preflight.estimate(system, values), folder)
    bench = system.set_up(values)
    rig = make_rig(system, bench)
    warm_up(system.set_up(values))
    folder.mkdir(parents=True, exist_ok=True)
    recorder = Recorder(new_path(folder, f"{system.name}-{name}-{clock.stamp()}"), system, values)
    try:
        fault = loop.run(bench, rig, pace or FreeClock(), recorder, watch, recorder)
        recorder.end()
        recorded = stored(recorder.path)
        if recorder.trouble and not recorded.count:
            raise InputError(recorder.trouble)
        result = replace(finish_recorded(system, values, name, recorded), fault=fault)  # the row with it may be missing
        recorder.close(result.as_json())
        if recorder.trouble:
            result = replace(result, fault=recorder.fault(result.rows[-1]))
    except Interrupted as stop:
        stop.sentence = f"interrupted; {recorder.path} holds the run so far"
        raise
    finally:
        recorder.close()
    return result


def warm_up(bench: Bench, on_devices: bool = False) -> None:
    """Run one tick on a copy, so that the code is compiled and in memory before the clock starts. Do not use the bench
    afterwards: an imported model keeps its state inside, where it cannot be copied."""
    world = bench.code.observe if on_devices else bench.code.plant
    world(bench.row.copy(), bench.w.copy(), bench.p)
    bench.code.tick(bench.row.copy(), bench.x.copy(), bench.p)


@dataclass(frozen=True)
class Difference:
    """The first place where a replay did not compute what was recorded."""

    tick: int
    signal: str
    recorded: Any
    replayed: Any


def scenario_of(recording: Recording) -> tuple[System, Scenario]:
    """The system and scenario of a recording; both are checked like any untrusted input."""
    system = registry.system(recording.system)
    try:
        return system, scenario.build(system.scenario, recording.scenario)
    except InputError as error:
        why = " ".join(str(error).split())  # several errors come as a list over several lines
        raise InputError(f"the scenario in {recording.path} cannot be used: {why[:300]}") from None


def reopened(recording: Recording) -> Result:
    """The result of a recording, computed again from its rows; what the rows do not contain comes from the stored result."""
    system, values = scenario_of(recording)
    name = recording.result.get("scenario", "") if recording.result else "cut recording"
    found = finish_recorded(system, values, name, fitting.fitted(recording, system.row))
    metrics = found.metrics if system.row == recording.dtype else told.completed(found.metrics, recording.result)
    fault = found.fault or told.fault(recording.result)  # the row with it may be missing
    outside = told.outside(recording.result)
    return replace(found, metrics=metrics, fault=fault, **outside)


def replay(recording: Recording) -> Difference | None:
    """Run the tick over the recorded inputs; None if every byte of every row comes out the same."""
    system, values = scenario_of(recording)
    fitting.check_same(recording, system.row)
    bench = system.set_up(values)
    if not recording.count:
        raise no_rows(recording)
    bench = replace(bench, ticks=recording.count)
    rig = ReplayRig(system, recording.chunks())
    tuning = Tuning(knobs(system, values, bench), values.loop.period)
    changes = RepeatedChanges(tuning, (recording.result or {}).get("changes") or ())
    sink = _Comparison(rig)
    loop.run(bench, rig, FreeClock(), sink, overseer=Repeated(system, bench, rig, changes, recording.last[0]))
    return sink.end()


class _Comparison:
    """A sink that keeps nothing: each chunk is compared as soon as it has been recomputed."""

    def __init__(self, rig: ReplayRig) -> None:
        self._rig, self._count, self.difference = rig, 0, None
        self._rows = self._recorded = rig.chunk[:0]
        self._bytes = np.zeros((0, 0), np.uint8)  # of self._rows
        self._before = 0  # rows of the chunks before

    difference: Difference | None

    def append(self, row: np.ndarray) -> None:
        if self._rig.chunk is not self._recorded:
            self._compare()
            self._recorded, self._rows = self._rig.chunk, np.zeros_like(self._rig.chunk)
            self._bytes = self._rows.view(np.uint8).reshape(len(self._rows), -1)
        self._bytes[self._count] = row.view(np.uint8)  # one copy, not signal by signal
        self._count += 1

    def _compare(self) -> None:
        recorded, replayed = self._recorded[: self._count], self._rows[: self._count]
        replayed["tick_time"] = recorded["tick_time"]  # the speed of the machine is not part of the result
        found = first_difference(recorded, replayed) if self.difference is None else None
        if found is not None:
            self.difference = replace(found, tick=found.tick + self._before)
        self._before, self._count = self._before + self._count, 0

    def end(self) -> Difference | None:
        self._compare()
        return self.difference


def first_difference(recorded: np.ndarray, replayed: np.ndarray) -> Difference | None:
    size = recorded.dtype.itemsize
    before, after = (np.frombuffer(rows.tobytes(), np.uint8).reshape(-1, size) for rows in (recorded, replayed))
    different = np.flatnonzero((before != after).any(axis=1))
    if not len(different):
        return None
    k = int(different[0])
    for name, (offset, number, shape) in leaves(recorded.dtype).items():
        width = number.itemsize * int(np.prod(shape))
        one, two = before[k, offset : offset + width], after[k, offset : offset + width]
        if (one != two).any():
            return Difference(k, name, one.view(number).tolist(), two.view(number).tolist())
    raise AssertionError("rows differ in no signal")
