"""A run on devices: connect, watch, arm, go, stop softly, and tell.

The loop is alone in its process with the devices. Rows leave it through a ring in shared memory, which the recorder, another
process, reads; requests come in through a mailbox. Nobody outside can make the loop wait.
"""

import math
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hilt import clock, faults, job, loop, realtime
from hilt.device.lab import LabRig
from hilt.device.rigfile import RigFile
from hilt.faults import Fault, InputError
from hilt.job import Result
from hilt.mailbox import STOP, Mailbox
from hilt.realtime import Rights
from hilt.record import recording
from hilt.record.process import RECORDING, WRITTEN, RecorderProcess
from hilt.ring import RingWriter
from hilt.scenario import Scenario
from hilt.stage import System

RECORDER_START = 20.0  # s
RECORDER_END = 30.0  # s
LOOK = 0.02  # s between two looks at a rig that is READY
LOOK_EVERY = 32  # ticks between two looks at the recorder
Ask = Callable[[], bool | None]  # polled while the robot is held: yes, no, or not answered yet


class Overseer:
    """What ends a run from outside the tick: a request, or a recorder that does not keep up."""

    def __init__(self, box: Mailbox, recorder: RecorderProcess, ring: RingWriter, stops: bool) -> None:
        self._box, self._recorder, self._ring, self._stops = box, recorder, ring, stops
        self.notes: list[str] = []
        self.interrupted = False
        self._told = ""

    def look(self, row: np.ndarray) -> int:
        if self.interrupted:
            self.notes.append(f"interrupted at t = {row['t'][0]:.4g} s")
            return faults.REQUESTED
        for request in self._box.poll():
            if request.kind == STOP:
                self._box.answer(request, True, "stopping softly")
                self.notes.append(f"somebody asked to stop at t = {row['t'][0]:.4g} s")
                return faults.REQUESTED
            self._box.answer(request, False, "the loop is live; it takes nothing but stop")
        if self._ring.count % LOOK_EVERY:
            return 0
        trouble = self._recorder.trouble()
        if trouble and trouble != self._told:
            self._told = trouble
            self.notes.append(f"at t = {row['t'][0]:.4g} s: {trouble}")
        return faults.RECORDER if trouble and self._stops else 0


def _watch_ready(rig: LabRig, seconds: float, until: Callable[[], bool] = lambda: True, most: float = math.inf) -> None:
    """Look for a while and until something has happened, at most so long; trouble here arms nobody."""
    begin = clock.now()
    while clock.now() < begin + seconds or (not until() and clock.now() < begin + most):
        clock.pause(LOOK)
        if rig.trouble:
            raise InputError(f"the rig is not ready: {faults.explain(rig.trouble)}")


def _wait_for_yes(rig: LabRig, ask: Ask) -> None:
    while (answer := ask()) is None:
        _watch_ready(rig, LOOK)
    if not answer:
        raise InputError("the robot was not armed; answer yes to arm it, or set lab.arm = 'run' in the rig file")


@contextmanager
def _interruptible(overseer: Overseer) -> Iterator[None]:
    """While live, an interrupt is a request to stop softly, not an end in the middle of a motion."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def ask(*_: Any) -> None:
        overseer.interrupted = True

    before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class Session:
    """One scenario on one rig: `open`, then `go` as often as wanted, each time armed anew, then `close`."""

    def __init__(self, system: System, values: Scenario, name: str, folder: Path, file: RigFile) -> None:
        job.check_folder(folder)
        cycle = float(file.robot_section.cycle)
        if abs(values.loop.period - cycle) > 1e-9:
            raise InputError(
                f"loop.period is {values.loop.period:g} s but the robot takes a set-point every {cycle:g} s; "
                f"set loop.period = '{1e3 * cycle:g} ms'"
            )
        self.system, self.values, self.name, self.folder, self.file = system, values, name, folder, file
        self.rig, self._core = LabRig(file, system), realtime.choose_core()
        self._rights: realtime.Rights | None = None
        job.warm_up(system, system.set_up(values))

    def open(self) -> None:
        """Connect and watch without moving. What is wrong here is bad input: nothing was written, nobody was armed."""
        if self.file.lab.realtime:  # before the robot has to be answered: locking memory takes a while
            self._rights = realtime.take_rights(self._core)
        try:
            self.rig.open()
            _watch_ready(self.rig, self.file.lab.ready)
            if self.file.lab.bias:
                self.rig.bias()
                _watch_ready(self.rig, 0.1)
        except InputError:
            self.close()
            raise

    def go(self, ask: Ask | None = None, watch: Callable[[int], None] | None = None) -> Result:
        """Arm, run, stop softly; afterwards the rig is READY again, wherever the robot stands."""
        if self.file.lab.arm == "ask":
            if ask is None:
                raise InputError("lab.arm is 'ask' but nobody can be asked here; answer at a terminal, or set lab.arm = 'run'")
            _wait_for_yes(self.rig, ask)
        self.rig.check_start(self.system.set_up(self.values))
        self.folder.mkdir(parents=True, exist_ok=True)
        path = job.new_path(self.folder, f"{self.system.name}-{self.name}-{clock.stamp()}")
        run_name = f"{os.getpid()}-{path.stem}"
        ring = RingWriter(run_name, self.system.row, round(self.file.lab.ring / self.values.loop.period))
        box = Mailbox(run_name)
        recorder = RecorderProcess(run_name, path, recording.origin_of(self.system, self.values), away_from=self._core)
        try:
            _watch_ready(self.rig, 0.0, lambda: recorder.status.state >= RECORDING, RECORDER_START)
            overseer = Overseer(box, recorder, ring, self.file.lab.recorder == "stop")
            fault = self._live(ring, overseer, watch)
            result = self._tell(path, ring, recorder, overseer, fault)
            recorder.finish(result.as_json())
            return result
        finally:
            recorder.close()
            ring.close()
            box.close()

    def _live(self, ring: RingWriter, overseer: Overseer, watch: Callable[[int], None] | None) -> Fault | None:
        """From armed to at rest."""
        bench = self.system.set_up(self.values)
        with _interruptible(overseer):
            self.rig.arm(bench)
            try:
                fault = loop.run(self.system, bench, self.rig, self.rig.clock, ring, watch, overseer)
            finally:
                self.rig.rest()
                self.rig.reset()
        ring.end()
        return fault

    def home(self, speed: float = 0.02) -> None:
        """Drive the robot gently back to where the scenario starts, so that it can be armed again."""
        self.rig.home(self.system.set_up(self.values), speed)

    def _tell(self, path: Path, ring: RingWriter, recorder: RecorderProcess, overseer: Overseer, fault: Fault | None) -> Result:
        recorder.wait_for(WRITTEN, RECORDER_END)
        rows, ticks = recording.load(path).rows, self.rig.clock
        timing = {
            "rate_hz": 1.0 / self.values.loop.period,
            "lateness_us": realtime.percentiles(rows["lateness"] * 1e6),
            "tick_us": realtime.percentiles(rows["tick_time"] * 1e6),
            "overruns": ticks.overruns,
            "oversleeps": ticks.oversleeps,
            "missed": ticks.missed,
            "rows": ring.count,
            "rows_lost": ring.count - len(rows),
            "rights": (self._rights or Rights(None, refused={"all": "not asked for: lab.realtime is false"})).as_json(),
            "clock": ticks.as_json(),
            "devices": self.rig.counters(),
        }
        found = job.finish(self.system, self.values, self.name, rows, path)
        return replace(found, fault=fault, timing=timing, notes=overseer.notes)  # a cut recording may not hold the fault

    def close(self) -> None:
        """Let go of the devices and of all rights; safe to call twice."""
        self.rig.close()
        if self._rights is not None:
            self._rights.release()


def run(
    system: System,
    values: Scenario,
    name: str,
    folder: Path,
    file: RigFile,
    ask: Ask | None = None,
    watch: Callable[[int], None] | None = None,
) -> Result:
    """Run a scenario once on the devices of a rig file."""
    session = Session(system, values, name, folder, file)
    try:
        session.open()
        return session.go(ask, watch)
    finally:
        session.close()
