"""A schedule at work: it strikes the virtual machine and the emulated facility at the times it says."""

import random
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device.rigfile import RigFile
from hilt.host import machine
from hilt.host.virtual.machine import VirtualMachine
from hilt.host.virtual.network import Packet
from hilt.host.virtual.processes import VirtualProcess
from hilt.lab.dry.control import FacilityControl
from hilt.lab.trials.schedule import Fault

RESENT = 200_000_000  # [ns] after which a stream's lost piece is sent again
SENSOR = ("jump", "saturate", "status", "freeze", "silence")
VALUES = {"jump": "60,0,0,0,0,0", "status": "0x80000000"}
ROBOT = {
    "rsi": ("wrong_ipoc", "disconnect"),
    "rtde": ("protective", "emergency", "safeguard", "violation"),
    "fci": ("user_stop", "guiding"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def roles_of(rig: RigFile) -> dict[str, str]:
    """Return what each process of a lab is called in a schedule, by its name on the machine."""
    found = {"hilt": "hilt", "robot": "robot", "sensor": "sensor", "recorder": "recorder"}
    if rig.other:
        found |= {rig.other: "robot2", f"robot {rig.other}": "partner"}
    if rig.second_carrier:
        found[f"sensor-{rig.second_carrier}"] = "sensor2"
    return found


class Disturbance:
    """What strikes when; `begin` counts the time from now."""

    def __init__(self, virtual: VirtualMachine, control: FacilityControl, rig: RigFile, faults: tuple[Fault, ...]) -> None:
        self._machine, self._control, self._rig, self.faults = virtual, control, rig, faults
        self._roles, self._begin = roles_of(rig), 0
        tables = (*(rig.robots.values() or [rig.robot]),)
        self._checked = any(table["driver"] == "fci" for table in tables)  # binary poses: nothing but UDP's checksum finds it
        self._chances = {fault: random.Random(f"{virtual.seed} {fault.kind} {fault.target}") for fault in faults}
        self.stop: Callable[[], Any] = lambda: None  # what the operator does
        self.recordings: Callable[[], list[Any]] = list  # the files that are being written

    def begin(self) -> None:
        self._begin = self._machine.scheduler.now
        self._machine.network.disturb = self._packet if self.faults else None
        machine.thread(self._run, "fate")

    def _named(self, role: str) -> list[VirtualProcess]:
        return [each for each in self._machine.processes if self._role(each.name) == role and not each.ended]

    def _role(self, name: str) -> str:
        return self._roles.get(name) or self._roles.get(name.rpartition("-")[0], name)

    # Processes, devices, operator, disk

    def _run(self) -> None:
        """Do all that is done at one time, one after the other."""
        due: list[tuple[float, int, Callable[[], Any]]] = []
        for number, fault in enumerate(self.faults):
            begin, end = getattr(self, f"_{fault.kind}", None), getattr(self, f"_{fault.kind}_ends", None)
            if begin is not None:
                due.append((fault.at, number, partial(begin, fault)))
            if end is not None:
                due.append((fault.at + fault.duration, number, partial(end, fault)))
        for at, _, do in sorted(due, key=lambda each: each[:2]):
            left = at - (self._machine.scheduler.now - self._begin) / 1e9
            if left > 0.0:
                clock.pause(left)
            with suppress(InputError):  # whom it would strike has ended
                do()

    def _stall(self, fault: Fault) -> None:
        for each in self._named(fault.target):
            each.stalled = self._machine.scheduler.now + round(1e9 * fault.duration)

    _hang = _stall

    def _freeze(self, fault: Fault) -> None:
        for each in self._named(fault.target):
            each.send_signal(signal.SIGSTOP)

    def _freeze_ends(self, fault: Fault) -> None:
        for each in self._named(fault.target):
            each.send_signal(signal.SIGCONT)

    def _kill(self, fault: Fault) -> None:
        for each in self._named(fault.target):
            each.send_signal(signal.SIGKILL)

    def _stop(self, _: Fault) -> None:
        self.stop()

    def _signal(self, fault: Fault) -> None:
        for each in self._named("hilt"):
            each.send_signal(SIGNALS[int(fault.amount)])

    def _sensor(self, fault: Fault) -> None:
        name = SENSOR[int(fault.amount)]
        self._control.set(f"sensor.{name}", VALUES.get(name, "1"))

    def _sensor_ends(self, fault: Fault) -> None:
        name = SENSOR[int(fault.amount)]
        self._control.set(f"sensor.{name}", {"jump": "0,0,0,0,0,0"}.get(name, "0"))

    def _robot_switch(self, fault: Fault) -> str:
        names = ROBOT[self._rig.of(self._rig.clock).robot["driver"] if self._rig.other else self._rig.robot["driver"]]
        return f"robot.{names[int(fault.amount) % len(names)]}"

    def _robot(self, fault: Fault) -> None:
        self._control.set(self._robot_switch(fault), 1)

    def _robot_ends(self, fault: Fault) -> None:
        self._control.set(self._robot_switch(fault), 0)

    def _push(self, fault: Fault) -> None:
        self._control.set("robot.push", (fault.amount, 0.0, 0.0, 0.0, 0.0, 0.0, fault.duration))

    def _push_ends(self, fault: Fault) -> None:
        self._control.set("robot.push", (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2))

    def _restart(self, _: Fault) -> None:
        self._control.send("robot.restart")

    def _full(self, _: Fault) -> None:
        self._machine.disk.full = True

    def _full_ends(self, fault: Fault) -> None:
        self._machine.disk.full = fault.duration < 0.25  # a disk that was full for long has room again

    def _slow(self, fault: Fault) -> None:
        self._machine.disk.slow = round(1e9 * fault.amount)

    def _slow_ends(self, _: Fault) -> None:
        self._machine.disk.slow = 0

    def _deleted(self, _: Fault) -> None:
        for path in self.recordings():
            path.unlink(missing_ok=True)

    def _wall(self, fault: Fault) -> None:
        self._machine.wall_step += round(1e9 * fault.amount)

    def _stranger(self, fault: Fault) -> None:
        """Somebody sends packets to the ports of hilt."""
        chance, line = self._chances[fault], machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
        ports = [port for kind, port in self._machine.network.bound if kind == socket.SOCK_DGRAM]
        for _ in range(200):
            for port in ports:
                line.sendto(chance.randbytes(chance.randrange(400)), ("127.0.0.1", port))
            clock.pause(fault.duration / 200)
        line.close()

    # Packets

    def _packet(self, packet: Packet) -> list[tuple[int, bytes]]:
        line = f"{self._role(packet.sender)}>{self._role(packet.receiver)}"
        now = (self._machine.scheduler.now - self._begin) / 1e9
        found = [(0, packet.data)]
        for fault in self.faults:
            strikes = getattr(self, f"_on_{fault.kind}", None)
            if strikes is None or not fault.at <= now < fault.at + fault.duration:
                continue
            if fault.target == line or (fault.kind == "cable" and fault.target in line.split(">")):
                found = strikes(fault, packet, found, self._chances[fault], now)
        return found

    def _on_cable(self, fault: Fault, packet: Packet, found: Any, _: Any, now: float) -> list[tuple[int, bytes]]:
        if packet.stream:
            return [(round(1e9 * (fault.at + fault.duration - now)) + RESENT, packet.data)]
        return []

    def _on_lose(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        if chance.random() >= fault.amount:
            return list(found)
        return [(RESENT, packet.data)] if packet.stream else []

    def _on_late(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        return [(after + round(1e9 * fault.amount * chance.random()), data) for after, data in found]

    def _on_double(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        return list(found) * (2 if chance.random() < fault.amount and not packet.stream else 1)

    def _on_swap(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        more = chance.randrange(100_000, 6_000_000) if chance.random() < fault.amount else 0
        return [(after + more, data) for after, data in found]

    def _on_flip(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        if packet.stream or chance.random() >= fault.amount:
            return list(found)
        if self._checked:
            return []
        data = bytearray(packet.data)
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        return [(after, bytes(data)) for after, _ in found]

    def _on_cut(self, fault: Fault, packet: Packet, found: Any, chance: Any, _: float) -> list[tuple[int, bytes]]:
        if packet.stream or chance.random() >= fault.amount:
            return list(found)
        return [(after, data[: chance.randrange(len(data))]) for after, data in found]
