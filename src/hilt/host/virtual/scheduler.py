"""Virtual time, and tasks of which one runs at a time.

A task runs until it waits: for a time, a packet, a lock, another process. Then time jumps to whatever happens next. All that
could differ from one run to the next (who is first, how late a task wakes) follows from the seed.

Reading the clock takes a microsecond, as the code around it does: a loop that polls a time gets there. A task that sleeps is
woken some tens of microseconds late, as by a good host.
"""

import heapq
import random
import traceback
from collections.abc import Callable
from typing import Any

from greenlet import GreenletExit, greenlet

READING = 1_000  # [ns] that a reading of the clock takes
WAKING = (15_000, 60_000)  # [ns] by which a sleeping task is woken late
POLLS_MAX = 2_000_000  # readings of the clock without waiting: a loop that never ends
FIRST = 1_000_000_000_000  # [ns, monotonic] at the start
WALL = 1_700_000_000_000_000_000  # [ns] calendar time at the same moment

Waiting = list[tuple["Task", int]]  # tasks that wait for the same thing, each with the number of its wait


class Stuck(Exception):
    """No task can go on, or one of them polls for ever."""


class Task:
    """A thread of a virtual process; `run` is called in its own stack. Without it, it is whoever made the machine."""

    def __init__(self, process: Any, name: str, run: Callable[[], Any] | None, hub: greenlet) -> None:
        self.process, self.name, self._run = process, name, run
        self.wait = 0  # number of the present wait
        self.woken = self.done = False
        self.ended: Waiting = []
        self.error = ""  # traceback of an exception that nobody caught
        self.stack = greenlet(self._begin, hub) if run is not None else greenlet.getcurrent()

    def _begin(self) -> None:
        assert self._run is not None
        try:
            self._run()
        except GreenletExit:
            pass
        except BaseException:
            self.error = traceback.format_exc()
        self.done = True
        self.process.task_ended(self)

    def __repr__(self) -> str:
        return f"{self.process.name}/{self.name}"

    # As its starter sees it

    def is_alive(self) -> bool:
        return not self.done

    def join(self) -> None:
        scheduler: Scheduler = self.process.machine.scheduler
        while not self.done:
            scheduler.wait(self.ended)


class Scheduler:
    """Time and tasks; `wait` is what everything that waits is made of."""

    def __init__(self, seed: int) -> None:
        self.now = FIRST  # [ns]
        self.task: Task | None = None  # the one that runs
        self.closing = False
        self.switches = 0
        self._heap: list[tuple[int, int, Task | None, Any]] = []  # time, order, and a task with its wait or a function
        self._order = self._polls = 0
        self._random = random.Random(f"{seed} waking")
        self._main: Task | None = None
        self.known: list[Task] = []
        self._hub = greenlet(self._serve)

    # Time

    def read(self) -> int:
        """Read the clock [ns]."""
        self.now += READING
        self._polls += 1
        if self._polls > POLLS_MAX:
            self._polls = 0
            self._give_up(f"{self.task} reads the clock for ever without waiting")
        task = self.task
        if task is not None and task.process.stalled > self.now:  # preempted in the middle of whatever it does
            self.wait(until=task.process.stalled)
        return self.now

    def sleep(self, duration: int) -> None:
        """Let the running task sleep [ns]."""
        self.wait(until=self.now + max(duration, 1) + self._random.randrange(*WAKING))

    # Tasks

    def adopt(self, process: Any) -> Task:
        """Make the caller a task: the first one of a process."""
        self._main = self.task = Task(process, "main", None, self._hub)
        return self.task

    def _serve(self, *_: Any) -> None:
        """Go on when a task has ended."""
        while not self.closing:
            self.task = None
            self._next()

    def spawn(self, process: Any, name: str, run: Callable[[], Any], later: int = 0) -> Task:
        task = Task(process, name, run, self._hub)
        self.known.append(task)
        self._push(self.now + later, task, task.wait)
        return task

    def at(self, when: int, do: Callable[[], Any]) -> None:
        """Call a function at a time [ns]; it must not wait."""
        self._push(when, None, do)

    def wait(self, *waiting: Waiting, until: int | None = None) -> bool:
        """Let the running task wait until it is woken or a time has come [ns]; returns whether it was woken."""
        task = self.task
        if self.closing or task is None or task.process.ended:
            raise GreenletExit
        self._polls = 0
        while True:
            task.wait += 1
            task.woken = False
            entry = (task, task.wait)
            for each in waiting:
                each.append(entry)
            if until is not None:
                self._push(until, task, task.wait)
            try:
                self._next()
            finally:
                for each in waiting:
                    if entry in each:
                        each.remove(entry)
            if task.process.signals and task is task.process.first:
                task.process.handle_signals()
            if task.woken:
                return True
            if until is not None and self.now >= until:
                return False

    def wake(self, waiting: Waiting) -> None:
        """Wake all tasks that wait for this."""
        for task, wait in waiting:
            if task.wait == wait and not task.woken:
                task.woken = True
                self._push(self.now, task, wait)
        waiting.clear()

    def interrupt(self, task: Task) -> None:
        """Let a waiting task look at its signals."""
        self._push(self.now, task, task.wait)

    def _push(self, when: int, task: Task | None, what: Any) -> None:
        self._order += 1
        heapq.heappush(self._heap, (when, self._order, task, what))

    def _next(self) -> None:
        """Let the next task run, or go on if it is the running one."""
        while True:
            if not self._heap:
                self._give_up("no task can go on: everything waits for something that never happens")
            when, _, task, what = heapq.heappop(self._heap)
            if task is None:
                self.now = max(self.now, when)
                what()
                continue
            process = task.process
            if task.done or task.wait != what or process.ended:
                continue
            if process.stopped:
                process.held.append((task, what))
                continue
            if process.stalled > max(when, self.now):
                self._push(process.stalled, task, what)
                continue
            break
        self.now = max(self.now, when)
        task.wait += 1  # nothing else may wake it from this wait
        before, self.task = self.task, task
        if task is not before:
            self.switches += 1
            task.stack.switch()

    def _give_up(self, why: str) -> None:
        """Let whoever made the machine know."""
        assert self._main is not None
        before, self.task = self.task, self._main
        if before is self._main:
            raise Stuck(why)
        self._main.stack.throw(Stuck(why))

    def places(self, process: str) -> str:
        """Return where the tasks of a process wait, for a message."""
        found = []
        for each in self.known:
            if each.process.name == process and not each.done and each.stack.gr_frame is not None:
                frame: Any = each.stack.gr_frame
                while frame.f_back is not None and "/virtual/" in frame.f_code.co_filename:
                    frame = frame.f_back
                found.append(f"{each.name} at {frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}")
        return ", ".join(found)

    def go_on(self, held: list[tuple[Task, int]]) -> None:
        """Let tasks of a stopped process go on."""
        for task, wait in held:
            self._push(self.now, task, wait)
        held.clear()

    def close(self, tasks: list[Task]) -> None:
        """End all tasks but the caller; none of them goes on."""
        self.closing = True
        for task in tasks:
            if not task.done and task is not self._main:
                self.task = task
                if task.stack:
                    task.stack.parent = greenlet.getcurrent()
                    task.stack.throw(GreenletExit)
                task.done = True
        self._heap.clear()
        self.task = self._main
