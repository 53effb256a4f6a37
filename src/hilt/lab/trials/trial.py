"""One trial: a run on an emulated lab, in virtual time, while a schedule strikes; and what was wrong with it.

    session (process hilt) ── drivers ── network ── emulated devices          all of it the shipped code
        open, arm, run, drive home, arm again, close

The trial only starts things, lets the schedule strike, and looks on (invariants.py).
"""

import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hilt import job
from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import frames, rigfile
from hilt.device.live_rig import LIVE, OFF, READY, STOPPED
from hilt.device.placed import pose_of
from hilt.device.rigfile import RigFile
from hilt.host import interrupts, machine
from hilt.host.interrupts import Interrupted
from hilt.host.virtual.machine import VirtualMachine
from hilt.host.virtual.network import Packet
from hilt.host.virtual.scheduler import Stuck
from hilt.job import Result
from hilt.lab.dry.facility import Facility, running_facility
from hilt.lab.trials.disturbance import Disturbance, roles_of
from hilt.lab.trials.schedule import Fault, draw, written
from hilt.live.mailbox import Sender
from hilt.live.session import Session

HELD_UP = ("late", "swap", "lose", "cable", "hang", "freeze")
PATIENCE = 120.0  # [s, virtual] until a trial must be over
AGAIN = 0.06  # [s] that a second run lasts


@dataclass(frozen=True)
class Lab:
    """A lab to try: a rig file, and what runs on it for how long."""

    name: str
    rig: Path
    settings: tuple[str, ...] = ()
    seconds: float = 1.0
    begins: float = 1.07  # [s] from its start until hilt sends set-points

    def found(self, rig: RigFile) -> tuple[Any, Any, str]:
        """Return system, scenario and name of the run."""
        facility = rig.facility
        assert facility is not None
        settings: list[Any] = [*rig.settings(facility.system), f"loop.duration={self.seconds} s", *self.settings]
        return job.find(facility.system, facility.scenario, settings)


def labs() -> dict[str, Lab]:
    """Return the labs that come with hilt."""
    return {path.stem: _lab(path) for path in sorted(rigfile.SHIPPED.glob("dry-lab*.toml"))}


def _lab(path: Path) -> Lab:
    rig = rigfile.load(path)
    return Lab(path.stem, path, begins=1.77 if rig.other else 1.07)


@dataclass
class Outcome:
    """How a trial ended."""

    lab: str
    seed: int
    faults: tuple[Fault, ...]
    ends: list[str] = field(default_factory=list)  # of each run: the fault's name, done, or refused
    sentences: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)  # broken invariants
    seconds: float = 0.0  # of virtual time
    ways: list[tuple[float, float, float]] = field(default_factory=list)  # of each stop: speed [m/s]; way [m], time [s] to rest

    @property
    def line(self) -> str:
        """The trial as one line, from which it runs again."""
        return f"{self.lab} {self.seed}: {written(self.faults)}"


@dataclass
class Use:
    """What hilt did, as its own process saw it."""

    session: Session | None = None
    results: list[Result] = field(default_factory=list)
    ends: list[str] = field(default_factory=list)
    sentences: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)  # behind, after it was closed
    error: str = ""
    apart: float = 0.0  # [m] of the robot's set-point from where hilt takes it to be, at the end


Judge = Callable[["Trial", int | None, Outcome], list[str]]  # of a trial, the exit code of hilt and how it ended


class Trial:
    """A trial at work."""

    def __init__(self, lab: Lab, seed: int, faults: tuple[Fault, ...] | None, folder: Path) -> None:
        self.lab, self.folder, self.seed = lab, folder, seed
        self.rig = rigfile.load(lab.rig)
        self.faults = draw(lab.name, seed, lab.begins, lab.seconds, roles_of(self.rig).values()) if faults is None else faults
        self.virtual = VirtualMachine(seed)
        self.use = Use()
        self.facility: Facility | None = None
        self.robots: dict[str, Any] = {}  # the emulated ones, by role
        # A packet that is held up arrives later; a robot that hung goes on where it was, and is then slowed down while READY.
        self.grace = max((fault.duration + 0.3 for fault in self.faults if fault.kind in HELD_UP), default=0.0)
        self.began = 0.0  # when hilt was started [s]
        self.lived: dict[str, list[list[float]]] = {"robot": [], "robot2": []}  # when each was live: begin and end [s]

    def run(self, judge: "Judge") -> Outcome:
        outcome = Outcome(self.lab.name, self.seed, self.faults)
        virtual = self.virtual
        try:
            with virtual.running("lab"), running_facility(self.rig, [], diary=self.folder / "robot.csv") as facility:
                self.facility = facility
                self._find_robots()
                disturbance = Disturbance(virtual, facility.control, facility.rig, self.faults)
                disturbance.stop, disturbance.recordings = self._stop, lambda: list(self.folder.glob("runs/*.mcap"))
                virtual.network.heard = self._heard
                begin = virtual.scheduler.now
                self.began = begin / 1e9
                child = virtual.begin("hilt", self._main)
                disturbance.begin()
                if not child.wait(PATIENCE):
                    outcome.wrong.append(f"hilt had not ended after {PATIENCE:g} s: {virtual.scheduler.places('hilt')}")
                outcome.seconds = (virtual.scheduler.now - begin) / 1e9
                with suppress(InputError):
                    facility.status()  # what the robots have heard is written
                outcome.wrong += judge(self, child.poll(), outcome)
        except (Stuck, InputError) as error:
            outcome.wrong.append(f"{type(error).__name__}: {error}")
        outcome.wrong += [f"nobody caught: {crash.strip().splitlines()[-1]} ({crash})" for crash in virtual.crashes]
        outcome.ends, outcome.sentences = self.use.ends, self.use.sentences
        return outcome

    def _find_robots(self) -> None:
        for name, role in roles_of(self.rig).items():
            found = [each for each in self.virtual.processes if each.name == name and "robot" in each.own]
            if found and role in ("robot", "robot2"):
                self.robots[role] = found[0].own["robot"]

    # In the process of hilt

    def _main(self) -> None:
        use, process = self.use, self.virtual.process
        assert self.facility is not None
        try:
            with interrupts.raising():
                session = use.session = Session(*self.lab.found(self.facility.rig), self.folder / "runs", self.facility.rig)
                try:
                    session.open()
                    self._go(session)
                    if self.seed % 3 == 0:
                        session.home()
                        machine.thread(self._stop_soon, "operator")
                        self._go(session)
                    use.apart = self._apart(session)
                finally:
                    session.close()
        except InputError as error:
            use.ends.append("refused")
            use.sentences.append(str(error))
        except Interrupted as error:
            use.ends.append("interrupted")
            use.sentences.append(error.sentence)
        except Exception:
            use.error = traceback.format_exc()
        if not process.ended:
            use.left = [str(each.address) for each in process.sockets] + [each.name for each in process.segments]
            use.left += [
                task.name for task in process.tasks if task is not process.first and not task.done and task.name != "operator"
            ]

    def _go(self, session: Session) -> None:
        result = session.go()
        self.use.results.append(result)
        self.use.ends.append("done" if result.fault is None else result.fault.name)
        self.use.sentences.append("" if result.fault is None else result.fault.sentence)

    def _apart(self, session: Session) -> float:
        """Return how far the robot's set-point is from where hilt takes it to be, at rest."""
        driver, robot = getattr(session.rig, "_robot", None), self.robots.get("robot")
        if session.rig.state != READY or driver is None or robot is None:
            return 0.0
        section: Any = (self.rig.of(self.rig.clock) if self.rig.other else self.rig).robot_section
        believed, actual = frames.identity(), frames.identity()
        driver.sent(believed)
        frames.to_world(pose_of(section.X_WR), robot._set, pose_of(section.X_TB), actual)
        return float(frames.distance(believed, actual))

    def _stop_soon(self) -> None:
        session = self.use.session
        while session is not None and session.rig.state != LIVE and not self.virtual.process.ended:
            clock.pause(0.01)
        clock.pause(AGAIN)
        self._stop()

    def _stop(self) -> None:
        if self.use.session is not None:
            with suppress(InputError):
                sender = Sender(self.use.session.box.name)
                sender.stop()
                sender.close()

    # Beside it

    def _heard(self, packet: Packet) -> None:
        """Before each packet to a robot: whether hilt may send set-points now."""
        role = roles_of(self.rig).get(packet.receiver)
        if role not in self.robots:
            return
        now, state, lived = self.virtual.scheduler.now / 1e9, self._state(role), self.lived[role]
        robot = self.robots[role]
        if state == LIVE:
            if not lived or lived[-1][2]:
                lived.append([now, now, 0.0])
            lived[-1][1] = now
        elif lived:
            lived[-1][2] = 1.0  # over
        robot.live = state in (LIVE, STOPPED) or bool(lived and now < lived[-1][1] + self.grace)

    def _state(self, role: str) -> int:
        rig = getattr(self.use.session, "rig", None)
        if role == "robot2":
            rig = getattr(rig, "_partner", None)
        return OFF if rig is None else int(rig.state)
