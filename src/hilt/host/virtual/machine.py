"""A virtual machine: what host/machine.py says, in virtual time, from a seed.

    with VirtualMachine(seed=7).running():
        result = session.run(...)

Everything runs in this process: child processes are groups of tasks, with their own number, signals, sockets and memory. The
same seed gives the same order of everything, on every machine.

Calls that may be slow cost virtual time: starting a process, locking memory, opening a file. Whoever makes one between READY
and rest loses cycles of the robot here, as in the lab.
"""

import functools
import ipaddress
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any, TypeVar

from hilt.host import machine as seam
from hilt.host.machine import Machine
from hilt.host.virtual import processes
from hilt.host.virtual.disk import Disk
from hilt.host.virtual.memory import Segments
from hilt.host.virtual.network import Network, VirtualSelector, VirtualSocket
from hilt.host.virtual.outside import look_at, watching
from hilt.host.virtual.processes import VirtualChild, VirtualProcess
from hilt.host.virtual.scheduler import FIRST, WALL, Scheduler, Task, Waiting

T = TypeVar("T")
COSTS = {  # [ns]
    "start a process": 3_000_000,
    "begin in a process": 300_000_000,  # until its code runs
    "lock memory": 90_000_000,
    "open a file": 200_000,
    "create a segment": 50_000,
}


@functools.cache
def _resolve(name: str) -> str:
    if name == "localhost":
        return "127.0.0.1"
    try:
        return str(ipaddress.IPv4Address(name))
    except ValueError:
        raise OSError(-2, "Name or service not known") from None


class VirtualTime:
    """What clock.py asks, as Python's `time`."""

    def __init__(self, machine: "VirtualMachine") -> None:
        self._machine, self._read = machine, machine.scheduler.read

    def monotonic(self) -> float:
        return self._read() / 1e9

    def monotonic_ns(self) -> int:
        return self._read()

    def time(self) -> float:
        return self.time_ns() / 1e9

    def time_ns(self) -> int:
        return WALL + self._read() - FIRST + self._machine.wall_step

    def sleep(self, seconds: float) -> None:
        self._machine.scheduler.sleep(-int(-1e9 * seconds // 1))


class VirtualEvent:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler, self._set = scheduler, False
        self._waiting: Waiting = []

    def is_set(self) -> bool:
        return self._set

    def set(self) -> None:
        self._set = True
        self._scheduler.wake(self._waiting)

    def clear(self) -> None:
        self._set = False

    def wait(self, seconds: float | None = None) -> bool:
        scheduler = self._scheduler
        if not self._set:
            until = None if seconds is None else scheduler.now + max(round(1e9 * seconds), 1)
            scheduler.wait(self._waiting, until=until)
        return self._set


class VirtualLock:
    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler
        self._holder: Any = None
        self._waiting: Waiting = []

    def acquire(self) -> bool:
        while self._holder is not None and not self._holder.process.ended:
            self._scheduler.wait(self._waiting)
        self._holder = self._scheduler.task
        return True

    def release(self) -> None:
        self._holder = None
        self._scheduler.wake(self._waiting)

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(self, *_: object) -> None:
        self.release()


class Scheduling:
    """Priorities and cores, as Python's `os`; everything is granted."""

    def __init__(self, machine: "VirtualMachine") -> None:
        self._machine = machine

    def cpu_count(self) -> int:
        return self._machine.CORES

    def sched_getaffinity(self, _: int) -> set[int]:
        return set(self._machine.process.affinity)

    def sched_setaffinity(self, _: int, cores: set[int]) -> None:
        self._machine.process.affinity = set(cores)

    def sched_getscheduler(self, _: int) -> int:
        return int(self._machine.process.policy[0])

    def sched_getparam(self, _: int) -> Any:
        return self._machine.process.policy[1]

    def sched_setscheduler(self, _: int, policy: int, parameters: Any) -> None:
        self._machine.process.policy = (policy & ~os.SCHED_RESET_ON_FORK, parameters)

    def nice(self, increment: int) -> int:
        return increment


class Collector:
    """The garbage collector of a process, as Python's `gc`: memory is that of the real process, whose own collector goes on."""

    def __init__(self) -> None:
        self._runs = True

    def isenabled(self) -> bool:
        return self._runs

    def enable(self) -> None:
        self._runs = True

    def disable(self) -> None:
        self._runs = False

    def collect(self) -> None: ...
    def freeze(self) -> None: ...
    def unfreeze(self) -> None: ...


class VirtualMachine(Machine):
    """The machine; whoever says `running()` becomes its first process."""

    CORES = 4

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed
        self.scheduler = Scheduler(seed)
        self.network = Network(self, seed)
        self.disk = Disk(self)
        self.wall_step = 0  # [ns] by which the calendar clock was set
        self.crashes: list[str] = []  # exceptions that nobody caught
        self.processes: list[VirtualProcess] = []
        self.costs = dict(COSTS)
        self.slow_calls: list[tuple[str, str, int]] = []  # process, call, when [ns]
        self._segments, self._scheduling = Segments(self), Scheduling(self)
        self._time = VirtualTime(self)
        self._number = 0
        self._kernel = VirtualProcess(self, "kernel", 1)

    # Running

    @contextmanager
    def running(self, name: str = "hilt") -> Iterator["VirtualMachine"]:
        """Let the caller be the first process of this machine, with all that it calls."""
        process = self._process(name)
        process.first = self.scheduler.adopt(process)
        with seam.using(self), watching(lambda: self.scheduler.task is not None):
            try:
                yield self
            finally:
                self.close()

    def begin(self, name: str, run: Callable[[], Any]) -> VirtualChild:
        """Start a process that calls a function."""
        process = self._process(name)
        process.begin(run, 0)
        return VirtualChild(process)

    def close(self) -> None:
        """End everything."""
        self.scheduler.closing = True
        for process in self.processes:
            process.end(-signal.SIGKILL)
        self.scheduler.close([task for process in self.processes for task in process.tasks])

    def _process(self, name: str) -> VirtualProcess:
        same = sum(each.name.partition("-")[0] == name for each in self.processes)
        made = VirtualProcess(self, name if not same else f"{name}-{same + 1}", 1000 + len(self.processes))
        self.processes.append(made)
        return made

    @property
    def process(self) -> VirtualProcess:
        """The process of the running task."""
        task = self.scheduler.task
        found: VirtualProcess = self._kernel if task is None else task.process
        return found

    def named(self, name: str) -> list[VirtualProcess]:
        """Return the living processes of a name: `hilt`, `robot`, `sensor`, `recorder`, ..."""
        return [each for each in self.processes if each.name.partition("-")[0] == name and not each.ended]

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def take(self, call: str) -> None:
        """Let a slow call take its time."""
        task = self.scheduler.task
        if task is not None:
            self.slow_calls.append((task.process.name, call, self.scheduler.now))
            self.scheduler.wait(until=self.scheduler.now + self.costs[call])

    # What processes use: see host/machine.py

    @property
    def time(self) -> Any:
        return self._time

    def thread(self, run: Callable[[], Any], name: str) -> Task:
        task = self.scheduler.spawn(self.process, name, run)
        self.process.tasks.append(task)
        return task

    def event(self) -> Any:
        return VirtualEvent(self.scheduler)

    def lock(self) -> Any:
        return VirtualLock(self.scheduler)

    def own(self, name: str, make: Callable[[], T]) -> T:
        own = self.process.own
        if name not in own:
            own[name] = make()
        found: T = own[name]
        return found

    def socket(self, family: int, kind: int) -> Any:
        return VirtualSocket(self, family, kind)

    def connect(self, address: str, port: int, seconds: float) -> Any:
        made = VirtualSocket(self, 2, 1)
        try:
            made.connect((address, port))
        except OSError:
            made.close()
            raise
        made.settimeout(seconds)
        return made

    def selector(self) -> Any:
        return VirtualSelector(self)

    def resolve(self, name: str) -> str:
        return _resolve(name)

    @contextmanager
    def short(self, folder: Path) -> Iterator[str]:
        yield str(folder)

    def pid(self) -> int:
        return self.process.pid

    def start(self, module: str, arguments: tuple[str, ...], heard: bool, errors: bool, name: str = "") -> VirtualChild:
        parent, child = self.process, self._process(name or module.rpartition(".")[2])
        parent.pipes.append(child.input)
        child.output.unheard = not heard
        self.take("start a process")
        child.affinity = set(parent.affinity)
        child.handlers = {number: each for number, each in parent.handlers.items() if each == signal.SIG_IGN}
        child.begin(processes.program(module, arguments), self.costs["begin in a process"])
        return VirtualChild(child)

    def kill(self, pid: int, number: int) -> None:
        found = next((each for each in self.processes if each.pid == pid and not each.ended), None)
        if found is None:
            raise ProcessLookupError(3, "No such process")
        found.send_signal(number)
        if self.scheduler.task is found.first and found.signals:
            found.handle_signals()

    def input_line(self, seconds: float | None) -> str:
        return self.process.input.line(seconds)

    def say(self, line: str) -> None:
        self.process.output.write(line.encode() + b"\n")

    def say_no_more(self) -> None:
        self.process.output.close_writer()

    def at_exit(self, run: Callable[[], Any]) -> None:
        self.process.at_exit.append(run)

    def not_at_exit(self, run: Callable[[], Any]) -> None:
        if run in self.process.at_exit:
            self.process.at_exit.remove(run)

    def takes_signals(self) -> bool:
        return self.scheduler.task is self.process.first

    def handler(self, number: int) -> Any:
        return self.process.handlers.get(number, signal.SIG_DFL)

    def handle(self, number: int, handler: Any) -> Any:
        before = self.handler(number)
        self.process.handlers[number] = handler
        return before

    @property
    def scheduling(self) -> Any:
        return self._scheduling

    def lock_memory(self, flags: int) -> int:
        self.take("lock memory")
        return 0

    def unlock_memory(self) -> None: ...

    @property
    def collector(self) -> Any:
        return self.own("collector", Collector)

    def prioritise_threads(self, priority: int) -> None: ...

    def switch_threads_after(self, seconds: float) -> float:
        return seconds

    def stolen(self) -> float:
        return 0.0

    def isolated_cores(self) -> str:
        return ""

    def real_time_processes(self) -> dict[int, int]:
        """Return those of this machine; they are all ours, and known by their claims."""
        return {}

    @property
    def segments(self) -> Segments:
        return self._segments

    def look_at(self, module: ModuleType) -> None:
        look_at(module)

    def open(self, path: Path, mode: str) -> IO[Any]:
        return self.disk.open(path, mode)  # type: ignore[return-value]
