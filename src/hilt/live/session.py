"""A run in wall time, on devices or in simulation: connect, watch, arm, run, stop softly, and report.

The loop is alone in its process with the devices. Rows leave it through a ring in shared memory, which the recorder, another
process, reads; requests arrive through a mailbox, which also shows the state of the session. Nothing outside can make the loop
wait. `go` runs once; `serve` (station.py) executes requests from the mailbox.
"""

import itertools
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from hilt import job, loop
from hilt.core import clock, registry
from hilt.core.faults import Fault, InputError
from hilt.core.pairing import Joined, Shared
from hilt.core.scenario import Scenario
from hilt.core.system import Bench, Restarts, System
from hilt.core.tuning import Tuning, knobs
from hilt.device.joined_rig import JoinedRig
from hilt.device.live_rig import LabRig
from hilt.device.paced import PacedRig
from hilt.device.paired_rig import check_pairing
from hilt.device.protocol import LiveRig
from hilt.device.relative_rig import RelativeRig
from hilt.device.rigfile import Lab, RigFile, check_limits
from hilt.host import interrupts, machine, realtime, shared
from hilt.host.claims import Claims
from hilt.host.interrupts import Interrupted
from hilt.host.realtime import Rights
from hilt.job import Result
from hilt.live import cores
from hilt.live.mailbox import LIVE, OFF, READY, STOPPED, Mailbox
from hilt.live.overseer import Overseer
from hilt.live.ready import Ask, check_ask, wait_for_yes, watch_ready
from hilt.live.recorder import RecorderProcess
from hilt.live.ring import RingWriter
from hilt.live.scribe import START, Scribe
from hilt.metrics.tally import Timing
from hilt.plant import joystick
from hilt.record import standard
from hilt.record.layout import describe

_SIMULATED = Lab(arm="run", ready=0.0, realtime=False)
IN_WALL_TIME = "simulation in wall time, no devices"


def _devices(file: RigFile) -> str:
    """Describe robot and sensor of a rig for the report: real, or emulated on this machine."""
    tables = (*(file.robots.values() or [file.robot]), *(file.sensors.values() or [file.sensor]))
    places = [str(table[key]) for table in tables for key in ("peer", "address") if table.get(key)]
    here = bool(places) and all(place.startswith("127.") or place in ("localhost", "::1") for place in places)
    kind = "emulated devices on loopback" if here else "devices"
    return f"{kind}: {file.summary or file.robot['driver']}"


def _check_fits(system: System, values: Scenario, file: RigFile) -> None:
    """Check that a scenario fits this rig."""
    if not system.observe:
        able = [name for name, other in registry.systems().items() if other.observe]
        raise InputError(f"{system.name} cannot run on devices; {', '.join(able)} can; choose one")
    cycle = float(file.robot_section.cycle)
    if abs(values.loop.period - cycle) > 1e-9:
        raise InputError(
            f"loop.period is {values.loop.period:g} s but the robot takes a set-point every {cycle:g} s; "
            f"set loop.period = '{1e3 * cycle:g} ms'"
        )
    check_limits(values, file)
    check_pairing(file, system.pairing(values), system.name)


def _rig_of(system: System, values: Scenario, file: RigFile) -> LiveRig:
    pairing = system.pairing(values)
    if pairing is None:
        return LabRig(file)
    if isinstance(pairing, Joined):
        return JoinedRig(file, pairing)
    assert isinstance(pairing, Shared)
    return RelativeRig(file, pairing)


class Session:
    """One scenario on one rig, or simulated: `open`, then `go` as often as needed, armed again each time, then `close`."""

    def __init__(self, system: System, values: Scenario, name: str, folder: Path, file: RigFile | None = None) -> None:
        job.check_folder(folder)
        if file is not None:
            values = values.believed  # devices are the world: everything that a scenario says about it is belief
            _check_fits(system, values, file)
        self.system, self.values, self.name, self.folder = system, values, name, folder
        self._on_devices = file is not None
        self._devices = IN_WALL_TIME if file is None else _devices(file)
        self.lab = _SIMULATED if file is None else file.lab
        self._core: int | None = None
        self._rights: realtime.Rights | None = None
        self._recorder: RecorderProcess | None = None
        self._claims = Claims()
        try:
            if self.lab.realtime:  # before compiling or connecting anything that could disturb the session on that core
                self._core = cores.take(self._claims)
            self._set_up(file)
        except BaseException:
            self._claims.close()
            raise

    def _set_up(self, file: RigFile | None) -> None:
        system, values, name = self.system, self.values, self.name
        self.rig: LiveRig = PacedRig(system) if file is None else _rig_of(system, values, file)
        job.warm_up(system.set_up(values), on_devices=file is not None)
        self._starts = Restarts(system, values)  # before devices are connected, since it takes many cycles of a robot
        info = {
            "system": system.name,
            "scenario": name,
            "values": values.model_dump(mode="json"),
            "period": values.loop.period,
            "duration": values.loop.duration,
            "rig": None if file is None else file.summary or file.robot["driver"],
            "live": self._tuning(self._starts.begin()).as_json(),
            "row": describe(system.row),
            "standard": standard.of(system, values).as_json(),
            "pid": machine.pid(),
            "claims": self._claims.names,
        }
        shared.sweep()
        with interrupts.held():
            self.box = Mailbox(
                f"{machine.pid()}-{system.name}-{name}-{next(machine.own('sessions', lambda: itertools.count(1)))}", info
            )
            machine.at_exit(self.close)  # until the caller takes over closing it

    def _tuning(self, bench: Bench) -> Tuning:
        return Tuning(knobs(self.system, self.values, bench, self._on_devices), self.values.loop.period)

    def open(self) -> None:
        """Connect and watch without moving. A problem here is bad input: nothing was written, the robot was not armed."""
        self._recording()
        if self.lab.realtime:  # before the robot has to be answered: locking memory takes a while
            self._rights = realtime.take_rights(self._core)
        elif not self._on_devices:
            self._rights = realtime.stay_ordinary(cores.others())
        try:
            self.rig.open()
            watch_ready(self.rig, self.lab.ready)
            if self.lab.bias:
                self.rig.bias()
                watch_ready(self.rig, 0.1)
        except BaseException:
            self.close()
            raise
        self.box.show(state=READY)

    def go(self, ask: Ask | None = None, watch: Callable[[int], None] | None = None, *, once: bool = False) -> Result:
        """Arm, run, stop softly; afterwards the rig is READY again, at the robot's present pose. `once`: the devices are
        disconnected before the result is computed, since nothing answers them meanwhile."""
        if (ask := check_ask(self.lab.arm, ask)) is not None:
            wait_for_yes(self.rig, ask)
        return self.run(watch, once=once)

    def check_start(self) -> None:
        """Check that the rig may be armed; an InputError says why not."""
        self.rig.check_start(self._starts.begin())

    def run(self, watch: Callable[[int], None] | None = None, *, once: bool = False) -> Result:
        """Run the scenario, for a caller that has explicitly armed it; `once` as in `go`."""
        self.check_start()
        path = job.new_path(self.folder, f"{self.system.name}-{self.name}-{clock.stamp()}")
        with ExitStack() as stack:
            with interrupts.held():
                name, process = f"{machine.pid()}-{path.stem}", self._recording()
                scribe = Scribe(name, path, self.system, self.values, self.lab.ring, process, self._devices)
                stack.callback(scribe.close)
                unless_armed = stack.enter_context(ExitStack())
                unless_armed.callback(scribe.withdraw)
            watch_ready(self.rig, 0.0, lambda: not scribe.starting, START)
            bench = self._starts.begin()
            overseer = self._overseer(scribe, bench)
            before = machine.stolen()
            with interrupts.as_request(overseer.interrupt):
                scribe.check()
                self.rig.arm(bench)
                unless_armed.pop_all()
                fault = self._live(bench, scribe.ring, overseer, watch)
            with interrupts.held():
                about = self._about(machine.stolen() - before)
                if once:
                    self._disconnect()
                result = self._report(scribe, overseer, fault, *about)
                scribe.finish(result.as_json())
                self.box.show(recording=str(scribe.path or ""))
            return result

    def _recording(self) -> RecorderProcess:
        """The recorder's process: the one that was started before the devices were connected, unless it has ended."""
        if self._recorder is None or self._recorder.exit_code is not None:
            self._recorder = RecorderProcess(self._core)
        return self._recorder

    def _overseer(self, scribe: Scribe, bench: Bench) -> Overseer:
        operator = getattr(self.values, "operator", None)
        return Overseer(self.lab, self.box, self._tuning(bench), scribe, operator is not None and operator.kind == "live")

    def _live(self, bench: Bench, ring: RingWriter, overseer: Overseer, watch: Callable[[int], None] | None) -> Fault | None:
        """Run the loop from armed to at rest."""
        fault = None
        self.box.show(state=LIVE, armed=False, runs=self.box.front.runs + 1, ring=ring.name, sentence="")
        ring.begin()
        try:
            fault = loop.run(bench, self.rig, self.rig.clock, ring, watch, overseer)
        finally:
            self.rig.rest()
            sentence = "; ".join([fault.sentence] if fault else overseer.notes)
            self.box.show(state=STOPPED, sentence=sentence)
            self.rig.reset()
        ring.end()
        return fault

    def home(self, speed: float = 0.02) -> None:
        """Drive the robot gently back to the start of the scenario, so that it can be armed again."""
        overseer = Overseer(self.lab, self.box)
        try:
            with interrupts.as_request(overseer.interrupt):
                self.rig.home(self._starts.begin(), speed, overseer)
        finally:
            if overseer.interrupted:
                raise Interrupted(overseer.interrupted)  # the robot is at rest; the command ends as usual

    def _about(self, stolen: float) -> tuple[dict[str, Any], list[str]]:
        """Return timing and notes of the last run, while the devices are still there."""
        rights = (self._rights or Rights(None, refused={"all": "not requested: lab.realtime is false"})).as_json()
        timing = {**self.rig.timing(), "stolen_s": round(stolen, 3), "rights": rights}
        return {"rate_hz": 1.0 / self.values.loop.period, **timing}, self.rig.notes()

    def _report(
        self, scribe: Scribe, overseer: Overseer, fault: Fault | None, about: dict[str, Any], noted: list[str]
    ) -> Result:
        recorded, counted, ring = scribe.recorded(overseer.notes), Timing(), scribe.ring
        found = replace(job.finish_recorded(self.system, self.values, self.name, recorded, counted), recording=scribe.path)
        timing = {**about, **counted.as_json(), "rows": ring.count, "rows_lost": ring.count - counted.count}
        changes, notes = overseer.changes, [*overseer.notes, *noted]
        who = self.box.deeds.take()
        return replace(found, fault=fault, timing=timing, notes=notes, changes=changes, who=who)  # the rows may be incomplete

    def _disconnect(self) -> None:
        """Release the devices, and the rights that were needed to answer them. Safe to call twice."""
        self.rig.close()
        if self._rights is not None:
            self._rights.release()
            self._rights = None

    def close(self) -> None:
        """Release the devices and all rights; safe to call twice. A signal that comes meanwhile is raised at the end."""
        machine.not_at_exit(self.close)
        with interrupts.held():
            self._disconnect()
            if self._recorder is not None:
                self._recorder.close()
            joystick.release()
            self.box.show(state=OFF)
            self.box.close()
            self._claims.close()


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
        return session.go(ask, watch, once=True)
    finally:
        session.close()
