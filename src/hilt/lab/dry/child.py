"""Inside an emulator's process: the first line configures it, then it answers line by line (host/asked.py).

{"rig": …, "settings": …, …}        the first line
drop=0.1                            a switch: of the line (probabilities, delay_time) or of the device
next.drop=3                         the next three packets have this fault
clear                               clear all faults of device and line
status                              counters, as JSON
"""

from collections.abc import Callable
from typing import Any

from hilt.core.faults import InputError
from hilt.device.line import FAULTS
from hilt.host import asked, machine

PRIORITY = 40

Switch = Callable[[str], Any]
Switches = dict[str, tuple[Switch, Any]]  # name: parser of its value, and its fault-free value (None: not a fault)


def boolean(text: str) -> bool:
    values = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
    if text.lower() not in values:
        raise ValueError("1 or 0")
    return values[text.lower()]


def probability(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError("a probability from 0 to 1")
    return value


def seconds(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 60.0:
        raise ValueError("seconds from 0 to 60")
    return value


def count(text: str) -> int:
    return int(text, 0)


LINE: Switches = {**dict.fromkeys(FAULTS, (probability, 0.0)), "delay_time": (seconds, 0.02)}


def _read(read: Switch, key: str, text: str) -> Any:
    try:
        return read(text)
    except ValueError as error:
        raise InputError(f"{key} cannot be {text!r}: {error}; give another value") from None


def obey(line: str, device: Any, switches: Switches, actions: dict[str, Callable[[], Any]]) -> dict[str, Any]:
    """Execute a line; returns the answer."""
    key, equals, text = (part.strip() for part in line.partition("="))
    if not equals and key in actions:
        return actions[key]() or {}
    if not equals and key == "clear":
        device.line.clear()
        device.line.delay_time = LINE["delay_time"][1]
        for name, (_, sound) in switches.items():
            if sound is not None:
                setattr(device, name, sound)
    elif key.startswith("next.") and key[5:] in FAULTS:
        device.line.next(key[5:], _read(count, key, text))
    elif equals and key in LINE:
        setattr(device.line, key, _read(LINE[key][0], key, text))
    elif equals and key in switches:
        setattr(device, key, _read(switches[key][0], key, text))
    else:
        known = (*LINE, *(f"next.{fault}" for fault in FAULTS), *switches)
        raise InputError(f"{line!r} is not understood; known are {', '.join(known)} with '=', {', '.join(actions)} and clear")
    return {}


def _take_priority() -> None:
    """Take real-time priority, as a device has, if the host permits: below the kernel's interrupts (50) and hilt's loop. For
    all threads, since they share the interpreter's lock; and only once everything is compiled."""
    machine.prioritise_threads(PRIORITY)


def live(run: Callable[[dict[str, Any]], Any]) -> None:
    """Run an emulator's process. `run(config)` is a context manager that yields a function from line to answer."""
    asked.converse(run, _take_priority)
