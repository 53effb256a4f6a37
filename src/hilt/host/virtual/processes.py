"""Processes of a virtual machine: their tasks, pipes and signals, and what the kernel would clean up when one ends."""

import importlib
import signal
import sys
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit

from hilt.host.virtual.scheduler import Task, Waiting

DEADLY = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # unless handled


class Pipe:
    """Bytes from one process to another."""

    def __init__(self, machine: Any) -> None:
        self._machine, self.data = machine, bytearray()
        self.written_off = self.unheard = False  # closed by its writer, by its reader
        self.readers: Waiting = []

    def write(self, data: bytes) -> None:
        if self.written_off:
            raise ValueError("write to closed file")
        if self.unheard:
            raise BrokenPipeError(32, "Broken pipe")
        self.data += data
        self._machine.scheduler.wake(self.readers)

    def close_writer(self) -> None:
        self.written_off = True
        self._machine.scheduler.wake(self.readers)

    def await_data(self, ready: Callable[[], bool], seconds: float | None) -> bool:
        """Wait for something to read, or the end; returns whether there is."""
        scheduler = self._machine.scheduler
        until = None if seconds is None else scheduler.now + round(1e9 * max(seconds, 0.0))
        while not (ready() or self.written_off):
            if until is not None and scheduler.now >= until:
                return False
            scheduler.wait(self.readers, until=until)
        return True

    def line(self, seconds: float | None) -> str:
        if not self.await_data(lambda: b"\n" in self.data, seconds):
            return ""
        end = self.data.find(b"\n") + 1 or len(self.data)
        found = bytes(self.data[:end])
        del self.data[:end]
        return found.decode()


class VirtualProcess:
    """A process. It ends with its first task, or by a signal; then the machine frees what it held."""

    def __init__(self, machine: Any, name: str, pid: int) -> None:
        self.machine, self.name, self.pid = machine, name, pid
        self.first: Task | None = None
        self.tasks: list[Task] = []
        self.own: dict[str, Any] = {}
        self.sockets: list[Any] = []
        self.segments: list[Any] = []
        self.files: list[Any] = []
        self.pipes: list[Pipe] = []  # that it writes to
        self.input, self.output = Pipe(machine), Pipe(machine)
        self.handlers: dict[int, Any] = {}
        self.signals: list[int] = []  # not handled yet
        self.at_exit: list[Callable[[], Any]] = []
        self.stalled = 0  # [ns] until when none of its tasks runs
        self.stopped = False
        self.held: list[tuple[Task, int]] = []  # tasks that would run if it were not stopped
        self.ended, self.code = False, 0
        self.waiters: Waiting = []
        self.affinity = set(range(machine.CORES))
        self.policy: tuple[int, Any] = (0, None)

    def begin(self, run: Callable[[], Any], later: int) -> None:
        self.first = self.machine.scheduler.spawn(self, "main", lambda: self._main(run), later)
        self.tasks.append(self.first)

    def _main(self, run: Callable[[], Any]) -> None:
        code: Any = 0
        try:
            run()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        except GreenletExit:
            raise
        except BaseException:
            code = 1
            raise
        finally:
            if not self.ended and not isinstance(sys.exc_info()[1], GreenletExit):
                while self.at_exit:
                    self.at_exit.pop()()
                self.end(code)

    def task_ended(self, task: Task) -> None:
        self.machine.scheduler.wake(task.ended)
        if task.error:
            self.machine.crashes.append(f"{task}: {task.error}")
        if task in self.tasks:
            self.tasks.remove(task)

    def end(self, code: int) -> None:
        """End it, however it ends: everything that it held is free again."""
        if self.ended:
            return
        self.code, self.ended = code, True
        for each in list(self.sockets):
            each.close()
        for segment in list(self.segments):
            segment.let_go()
        for file in self.files:
            file.abandon()
        for pipe in (*self.pipes, self.output):
            pipe.close_writer()
        self.input.unheard = True
        self.machine.scheduler.wake(self.waiters)

    def send_signal(self, number: int) -> None:
        if self.ended:
            return
        handler = self.handlers.get(number, signal.SIG_DFL)
        if number == signal.SIGSTOP:
            self.stopped = True
        elif number == signal.SIGCONT:
            self.stopped = False
            self.machine.scheduler.go_on(self.held)
        elif number == signal.SIGKILL or (handler == signal.SIG_DFL and number in DEADLY):
            self.end(-number)
        elif callable(handler):
            self.signals.append(number)
            if self.first is not None and not self.first.done:
                self.machine.scheduler.interrupt(self.first)

    def handle_signals(self) -> None:
        while self.signals:
            number = self.signals.pop(0)
            handler = self.handlers.get(number)
            if callable(handler):
                handler(number, None)


class VirtualChild:
    """A child process, as its parent sees it."""

    def __init__(self, process: VirtualProcess) -> None:
        self.process, self.pid = process, process.pid

    def tell(self, data: bytes) -> None:
        self.process.input.write(data)

    def read(self, seconds: float) -> bytes | None:
        pipe = self.process.output
        if not pipe.await_data(lambda: bool(pipe.data), seconds):
            return None
        found = bytes(pipe.data)
        pipe.data.clear()
        return found

    def poll(self) -> int | None:
        return self.process.code if self.process.ended else None

    def wait(self, seconds: float) -> bool:
        scheduler = self.process.machine.scheduler
        until = None if seconds == float("inf") else scheduler.now + round(1e9 * seconds)
        while not self.process.ended and (until is None or scheduler.now < until):
            scheduler.wait(self.process.waiters, until=until)
        return self.process.ended

    def send_signal(self, number: int) -> None:
        self.process.send_signal(number)

    def end_input(self) -> None:
        self.process.input.close_writer()

    def end_output(self) -> None:
        self.process.output.unheard = True


def program(module: str, arguments: tuple[str, ...]) -> Callable[[], Any]:
    """Return what a child process runs: `main` of its module."""
    return lambda: importlib.import_module(module).main(*arguments)
