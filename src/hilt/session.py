"""A run on devices: connect, watch, arm, go, stop softly, and tell.

The loop is alone in its process with the devices. Rows leave it through a ring in shared memory, which the recorder, another
process, reads; requests come in through a mailbox. Nobody outside can make the loop wait.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hilt import clock, faults, job, loop, realtime
from hilt.device.lab import LabRig
from hilt.device.rigfile import RigFile
from hilt.faults import InputError
from hilt.job import Result
from hilt.mailbox import STOP, Mailbox
from hilt.record import recording
from hilt.record.process import RECORDING, WRITTEN, RecorderProcess
from hilt.ring import RingWriter
from hilt.scenario import Scenario
from hilt.stage import System

RECORDER_START = 20.0  # s
LOOK_EVERY = 32  # ticks between two looks at the recorder
Ask = Callable[[], bool | None]  # polled while the robot is held: yes, no, or not answered yet


class Overseer:
    """What ends a run from outside the tick: a request, or a recorder that does not keep up."""

    def __init__(self, box: Mailbox, recorder: RecorderProcess, ring: RingWriter, stops: bool) -> None:
        self._box, self._recorder, self._ring, self._stops = box, recorder, ring, stops
        self.notes: list[str] = []
        self._told = ""

    def look(self, row: np.ndarray) -> int:
        for request in self._box.poll():
            if request.kind == STOP:
                self._box.answer(request, True, "stopping softly")
                self.notes.append(f"somebody asked to stop at t = {row['t'][0]:.4g} s")
                return faults.REQUESTED
            self._box.answer(request, False, "the loop is live; it takes nothing but stop")
        if self._ring.count % LOOK_EVERY:
            return 0
        trouble = self._recorder.status.trouble()
        if trouble and trouble != self._told:
            self._told = trouble
            self.notes.append(f"at t = {row['t'][0]:.4g} s: {trouble}")
        return faults.RECORDER if trouble and self._stops else 0


def _watch_ready(rig: LabRig, seconds: float, until: Callable[[], bool] = lambda: True) -> None:
    """Answer every packet without moving, for a while and until something has happened; a fault here arms nobody."""
    end = clock.now() + seconds
    while clock.now() < end or not until():
        if code := rig.answer():
            raise InputError(f"the rig is not ready: {faults.explain(code)}")


def _wait_for_yes(rig: LabRig, ask: Ask) -> None:
    while (answer := ask()) is None:
        if code := rig.answer():
            raise InputError(f"the rig is not ready: {faults.explain(code)}")
    if not answer:
        raise InputError("the robot was not armed; answer yes to arm it, or set lab.arm = 'run' in the rig file")


def run(
    system: System,
    values: Scenario,
    name: str,
    folder: Path,
    file: RigFile,
    ask: Ask | None = None,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Run a scenario on the devices of a rig file. What is wrong before it is armed is bad input: nothing was written."""
    job.check_folder(folder)
    cycle = float(file.robot_section.cycle)
    if abs(values.loop.period - cycle) > 1e-9:
        raise InputError(
            f"loop.period is {values.loop.period:g} s but the robot takes a set-point every {cycle:g} s; "
            f"set loop.period = '{1e3 * cycle:g} ms'"
        )
    bench = system.set_up(values)
    job.warm_up(system, bench)
    rig = LabRig(file, system, bench)
    try:
        rig.open()
        _watch_ready(rig, file.lab.ready)
        if file.lab.bias:
            rig.bias()
            _watch_ready(rig, 0.1)
        if file.lab.arm == "ask":
            if ask is None:
                raise InputError("lab.arm is 'ask' but nobody can be asked here; answer at a terminal, or set lab.arm = 'run'")
            _wait_for_yes(rig, ask)
        return _go(system, values, name, folder, rig, bench, watch)
    finally:
        rig.close()


def _go(system: System, values: Scenario, name: str, folder: Path, rig: LabRig, bench: Any, watch: Any) -> Result:
    folder.mkdir(parents=True, exist_ok=True)
    path = job.new_path(folder, f"{system.name}-{name}-{clock.stamp()}")
    run_name = f"{os.getpid()}-{path.stem}"
    core, period = realtime.choose_core(), values.loop.period
    ring = RingWriter(run_name, system.row, round(rig.file.lab.ring / period))
    box = Mailbox(run_name)
    recorder = RecorderProcess(run_name, path, recording.origin_of(system, values), away_from=core)
    rights = None
    try:
        deadline = clock.now() + RECORDER_START
        _watch_ready(rig, 0.0, lambda: recorder.status.state >= RECORDING or clock.now() > deadline)
        overseer = Overseer(box, recorder, ring, rig.file.lab.recorder == "stop")
        rig.arm(bench.row[0]["X_WB_des"])
        rights = realtime.take_rights(core)
        loop.run(system, bench, rig, rig.clock, ring, watch, overseer)
        rig.rest()
        rights.release()
        counters = rig.counters()
        ring.end()
        recorder.wait_for(WRITTEN, 30.0)
        rows = recording.load(path).rows
        timing = {
            "rate_hz": 1.0 / period,
            "lateness_us": realtime.percentiles(rows["lateness"] * 1e6),
            "tick_us": realtime.percentiles(rows["tick_time"] * 1e6),
            "overruns": rig.clock.overruns,
            "oversleeps": rig.clock.oversleeps,
            "missed": rig.clock.missed,
            "rows": ring.count,
            "rows_lost": recorder.status.rows_lost,
            "rights": rights.as_json(),
            "clock": rig.clock.as_json(),
            "devices": counters,
        }
        result = replace(job.finish(system, values, name, rows, path), timing=timing, notes=overseer.notes)
        recorder.finish(result.as_json())
        return result
    finally:
        if rights is not None:
            rights.release()
        recorder.close()
        ring.close()
        box.close()
