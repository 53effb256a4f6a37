"""The machine under a process: tasks, sockets, child processes, signals, priorities, files. Time is read in core/clock.py.

Whatever runs live uses nothing of the machine but what is here, in clock.py, and the memory of shared.py:

    machine.socket(AF_INET, SOCK_DGRAM)     machine.thread(serve, "robot")     machine.start("hilt.live.recorder", name)

The machine is real unless `using(...)` puts another one in its place: a virtual one (virtual/), on which the same code runs in
virtual time. A virtual socket, event or lock has the methods of the real one that are used, so the real ones are those of
Python itself and cost nothing.
"""

import atexit
import ctypes
import gc
import math
import os
import select
import selectors
import signal
import socket as sockets
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Protocol, TypeVar

from hilt.core import clock
from hilt.host import child

_STAT, _STEAL = Path("/proc/stat"), 8  # cpu user nice system idle iowait irq softirq steal
_ISOLATED = Path("/sys/devices/system/cpu/isolated")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD
_FLAGS = 6  # index in /proc/PID/stat, counted after the name
_REAL_TIME = (os.SCHED_FIFO, os.SCHED_RR)

T = TypeVar("T")
Handler = Any  # of a signal


class Task(Protocol):
    """A thread that has been started."""

    def join(self) -> None: ...
    def is_alive(self) -> bool: ...


class Child(Protocol):
    """A child process, as its parent sees it."""

    pid: int

    def tell(self, data: bytes) -> None:
        """Write to its input; OSError or ValueError if it no longer reads."""

    def read(self, seconds: float) -> bytes | None:
        """Return what it has written, empty if it has closed its output; None if nothing came in time."""

    def poll(self) -> int | None:
        """Return its exit code, negative for a signal; None while it runs."""

    def wait(self, seconds: float) -> bool:
        """Wait for its end; returns whether it has ended."""

    def send_signal(self, number: int) -> None: ...
    def end_input(self) -> None: ...
    def end_output(self) -> None: ...


class RealChild:
    """A child process of this machine. In its own session: the terminal's interrupt goes to the parent, which ends both."""

    def __init__(self, module: str, arguments: tuple[str, ...], heard: bool, errors: bool) -> None:
        self._process = subprocess.Popen(
            child.command(module, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE if heard else subprocess.DEVNULL,
            stderr=None if errors else subprocess.DEVNULL,
            start_new_session=True,
        )
        self.pid = self._process.pid

    def tell(self, data: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        self._process.stdin.flush()

    def read(self, seconds: float) -> bytes | None:
        out = self._process.stdout
        assert out is not None
        if not select.select([out], [], [], max(seconds, 0.0))[0]:
            return None
        return os.read(out.fileno(), 1 << 16)

    def poll(self) -> int | None:
        return self._process.poll()

    def wait(self, seconds: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(None if seconds == math.inf else seconds)
        return self._process.poll() is not None

    def send_signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            self._process.send_signal(number)

    def end_input(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()

    def end_output(self) -> None:
        if self._process.stdout is not None:
            self._process.stdout.close()


class Machine:
    """The real machine."""

    def __init__(self) -> None:
        self._own: dict[str, Any] = {}

    # Time: what core/clock.py asks

    @property
    def time(self) -> Any:
        """A module like Python's `time`; None for that one."""
        return None

    # Tasks

    def thread(self, run: Callable[[], Any], name: str) -> Task:
        made = threading.Thread(target=run, name=name, daemon=True)
        made.start()
        return made

    def event(self) -> Any:
        return threading.Event()

    def lock(self) -> Any:
        return threading.Lock()

    def own(self, name: str, make: Callable[[], T]) -> T:
        """Return something that each process has once."""
        if name not in self._own:
            self._own[name] = make()
        found: T = self._own[name]
        return found

    # Sockets

    def socket(self, family: int, kind: int) -> Any:
        return sockets.socket(family, kind)

    def connect(self, address: str, port: int, seconds: float) -> Any:
        return sockets.create_connection((address, port), seconds)

    def selector(self) -> Any:
        return selectors.SelectSelector()  # epoll and poll count whole milliseconds, half of a robot's cycle

    def resolve(self, name: str) -> str:
        return sockets.gethostbyname(name)

    @contextmanager
    def short(self, folder: Path) -> Iterator[str]:
        descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            yield f"/proc/self/fd/{descriptor}"
        finally:
            os.close(descriptor)

    # Processes

    def pid(self) -> int:
        return os.getpid()

    def start(self, module: str, arguments: tuple[str, ...], heard: bool, errors: bool, name: str = "") -> Child:
        return RealChild(module, arguments, heard, errors)

    def kill(self, pid: int, number: int) -> None:
        os.kill(pid, number)

    def input_line(self, seconds: float | None) -> str:
        if seconds is not None and not select.select([sys.stdin], [], [], seconds)[0]:
            return ""
        return sys.stdin.readline()

    def say(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def say_no_more(self) -> None:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)

    def at_exit(self, run: Callable[[], Any]) -> None:
        atexit.register(run)

    def not_at_exit(self, run: Callable[[], Any]) -> None:
        atexit.unregister(run)

    # Signals

    def takes_signals(self) -> bool:
        return threading.current_thread() is threading.main_thread()

    def handler(self, number: int) -> Handler:
        return signal.getsignal(number)

    def handle(self, number: int, handler: Handler) -> Handler:
        return signal.signal(number, handler)

    # Priorities and cores

    @property
    def scheduling(self) -> Any:
        return os

    def lock_memory(self, flags: int) -> int:
        libc = ctypes.CDLL(None, use_errno=True)
        return ctypes.get_errno() if libc.mlockall(flags) else 0

    def unlock_memory(self) -> None:
        ctypes.CDLL(None).munlockall()

    @property
    def collector(self) -> Any:
        return gc

    def prioritise_threads(self, priority: int) -> None:
        for thread in threading.enumerate():
            with suppress(OSError):
                os.sched_setscheduler(thread.native_id or 0, os.SCHED_FIFO, os.sched_param(priority))

    def switch_threads_after(self, seconds: float) -> float:
        before = sys.getswitchinterval()
        sys.setswitchinterval(seconds)
        return before

    def stolen(self) -> float:
        try:
            first = _STAT.read_text().split("\n", 1)[0].split()
            return float(first[_STEAL]) / os.sysconf("SC_CLK_TCK")
        except (OSError, IndexError, ValueError):
            return 0.0

    def isolated_cores(self) -> str:
        try:
            return _ISOLATED.read_text()
        except OSError:
            return ""

    def real_time_processes(self) -> dict[int, int]:
        found = {}
        for process in Path("/proc").glob("[0-9]*"):
            core = _bound_to(process)
            if core is not None and int(process.name) != os.getpid():
                found[core] = int(process.name)
        return found

    # Memory and files

    @property
    def segments(self) -> Any:
        """Shared memory; None for the files of shared.py."""
        return None

    def look_at(self, module: ModuleType) -> None: ...

    def open(self, path: Path, mode: str) -> IO[Any]:
        made: IO[Any] = path.open(mode)
        return made


def _bound_to(process: Path) -> int | None:
    """Return the only core that a process with a real-time priority may run on; None for other processes."""
    with suppress(OSError, ValueError, IndexError):
        number = int(process.name)
        if os.sched_getscheduler(number) & ~os.SCHED_RESET_ON_FORK in _REAL_TIME:
            bound = os.sched_getaffinity(number)
            flags = int((process / "stat").read_text().rpartition(")")[2].split()[_FLAGS])
            if len(bound) == 1 and not flags & _KERNEL_THREAD:
                return next(iter(bound))
    return None


REAL = Machine()
_machine: Machine = REAL


def current() -> Machine:
    return _machine


@contextmanager
def using(machine: Machine) -> Iterator[None]:
    """Let everything run on another machine, in this process."""
    global _machine
    before, _machine = _machine, machine
    clock.ask(machine.time)
    try:
        yield
    finally:
        _machine = before
        clock.ask(before.time)


def thread(run: Callable[[], Any], name: str) -> Task:
    """Start a thread; the process does not wait for it at its end."""
    return _machine.thread(run, name)


def event() -> Any:
    """Return a new event, as Python's `threading.Event`."""
    return _machine.event()


def lock() -> Any:
    """Return a new lock, as Python's `threading.Lock`."""
    return _machine.lock()


def own(name: str, make: Callable[[], T]) -> T:
    """Return what this process has once under a name, made by `make` when it is first asked for."""
    return _machine.own(name, make)


def socket(family: int, kind: int) -> Any:
    """Return a new socket, as Python's `socket.socket`: UDP and TCP over IPv4, datagrams over a Unix socket."""
    return _machine.socket(family, kind)


def connect(address: str, port: int, seconds: float) -> Any:
    """Return a TCP socket that is connected, as Python's `socket.create_connection`."""
    return _machine.connect(address, port, seconds)


def selector() -> Any:
    """Return a selector of sockets to read from, as Python's `selectors`."""
    return _machine.selector()


def resolve(name: str) -> str:
    """Return the numeric address of a host; OSError if there is none."""
    return _machine.resolve(name)


def short(folder: Path) -> Any:
    """Return a context with a short path of a folder: a Unix socket's address is limited to 107 characters."""
    return _machine.short(folder)


def pid() -> int:
    """Return the number of this process."""
    return _machine.pid()


def start(module: str, *arguments: str, heard: bool = True, errors: bool = True, name: str = "") -> Child:
    """Start a module of ours as a child process: its `main(*arguments)`. `heard`: its output is read; `errors`: those go to the
    parent's terminal; `name`: what a virtual machine calls it."""
    return _machine.start(module, arguments, heard, errors, name)


def kill(pid: int, number: int) -> None:
    """Send a signal to a process."""
    _machine.kill(pid, number)


def input_line(seconds: float | None = None) -> str:
    """Return the next line from the parent; empty at its end, or if none came in time."""
    return _machine.input_line(seconds)


def say(line: str) -> None:
    """Write a line to the parent."""
    _machine.say(line)


def say_no_more() -> None:
    """Close the output: the parent no longer listens."""
    _machine.say_no_more()


def at_exit(run: Callable[[], Any]) -> None:
    """Call this when the process ends in order."""
    _machine.at_exit(run)


def not_at_exit(run: Callable[[], Any]) -> None:
    _machine.not_at_exit(run)


def takes_signals() -> bool:
    """Whether this task can handle signals: the first one of its process."""
    return _machine.takes_signals()


def handler(number: int) -> Handler:
    return _machine.handler(number)


def handle(number: int, handler: Handler) -> Handler:
    """Install the handler of a signal; returns the one before."""
    return _machine.handle(number, handler)


def scheduling() -> Any:
    """Return the functions of Python's `os` for priorities and cores."""
    return _machine.scheduling


def lock_memory(flags: int) -> int:
    """Lock the memory of this process (mlockall), which takes a while; 0 or the kernel's error."""
    return _machine.lock_memory(flags)


def unlock_memory() -> None:
    _machine.unlock_memory()


def collector() -> Any:
    """Return Python's `gc`: the garbage collector of this process."""
    return _machine.collector


def prioritise_threads(priority: int) -> None:
    """Give all threads of this process a real-time priority, if the machine permits."""
    _machine.prioritise_threads(priority)


def switch_threads_after(seconds: float) -> float:
    """Let a thread keep the interpreter for at most this long; returns what it was before [s]."""
    return _machine.switch_threads_after(seconds)


def stolen() -> float:
    """Return the time that a hypervisor ran something else instead of us, over all cores since boot [s]."""
    return _machine.stolen()


def isolated_cores() -> str:
    """Return the cores that the scheduler leaves alone (isolcpus=...), as the kernel writes them."""
    return _machine.isolated_cores()


def real_time_processes() -> dict[int, int]:
    """Return the other real-time process that is bound to each core, of any user."""
    return _machine.real_time_processes()


def segments() -> Any:
    return _machine.segments


def look_at(module: ModuleType) -> None:
    """Refuse a user's code that cannot run on this machine; the InputError names its line."""
    _machine.look_at(module)


def open_file(path: Path, mode: str) -> IO[Any]:
    """Open a file that is written during a run."""
    return _machine.open(path, mode)
