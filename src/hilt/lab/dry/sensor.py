"""The emulated sensor's process: a Net F/T that measures the contact of the emulated robot's mock-up."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hilt.core import clock, scenario
from hilt.core.faults import InputError
from hilt.core.pairing import Shared
from hilt.device.netft import codec
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rigfile import RigFile
from hilt.lab.dry import child, world
from hilt.lab.dry.motion import Met, MockUp, follow


def _six(text: str) -> tuple[float, ...]:
    parts = tuple(float(part) for part in text.split(","))
    if len(parts) != 6:
        raise ValueError("six numbers separated by commas, N and N·m")
    return parts


def _status_word(text: str) -> int:
    value = child.count(text)
    if not 0 <= value < 1 << 32:
        raise ValueError("a 32-bit number")
    return value


SWITCHES: child.Switches = {
    "freeze": (child.boolean, False),
    "jump": (_six, (0.0,) * 6),
    "zero": (_six, (0.0,) * 6),
    "saturate": (child.boolean, False),
    "status": (_status_word, 0),
    "silence": (child.boolean, False),
}

BEFORE = 1e6  # [s], subtracted from the time before the first session


class Contact:
    """The wrench at each sample, computed from the true pose of the robot, or of both."""

    def __init__(self, rig: RigFile, settings: list[str], name: str, carrier: str) -> None:
        pairing = world.pairing_of(rig, settings)
        self._world = world.World(rig, settings, pairing, carrier)
        robots = (pairing.moves, pairing.meets) if pairing is not None else ("",)
        responses = [follow(world.motion_name(name, robot)) for robot in robots]
        self._response = responses[0]
        carried = [
            MockUp(world.robot_of(rig.of(robot) if robot else rig), response)
            for robot, response in zip(robots, responses, strict=True)
        ]
        shared = isinstance(pairing, Shared)
        self._moving: Sequence[Met | MockUp] = [Met(*carried)] if shared else carried
        self._opposite = world.Opposite(rig, settings) if shared and carrier == robots[0] else None
        self._session, self._began = 0, clock.now()
        self.samples = 0
        self.wrench: tuple[world.Vector, world.Vector] = ((0.0,) * 3, (0.0,) * 3)

    @property
    def X_WB(self) -> Any:
        return self._moving[0].X_WB

    def __call__(self) -> tuple[world.Vector, world.Vector]:
        now = clock.now()
        session, began = self._response.session
        if session != self._session:
            self._session, self._began = session, began
            self._world.begin()
        for each in self._moving:
            each.move_to(now)
        # Before the first session its time is far in the past: no timed event happens.
        t = now - self._began - (0.0 if self._session else BEFORE)
        self.wrench = self._world.feel(t, *((each.X_WB, each.V_WB) for each in self._moving))
        if self._opposite is not None:
            self.wrench = self._opposite.feels(self.wrench, self.X_WB)
        self.samples += 1
        return self.wrench


@contextmanager
def run(config: dict[str, Any]) -> Iterator[Callable[[str], dict[str, Any]]]:
    rig: RigFile = scenario.build(RigFile, config["rig"])  # type: ignore[type-var]
    own = rig.with_second_sensor if config.get("second") else rig
    section, facility = world.netft_of(own), world.facility_of(rig)
    contact = Contact(rig, config["settings"], config["name"], own.carrier)
    contact()
    calibration = codec.Calibration(section.counts_per_force, section.counts_per_torque)
    try:
        box = NetFTBox(contact, calibration, facility.sensor_rate, section.address, section.port, dialect=section.dialect)
    except OSError as error:
        raise InputError(
            f"the sensor cannot be emulated at {section.address}:{section.port}: {error.strerror}; "
            "end the other program or change sensor.port"
        ) from None

    def status() -> dict[str, Any]:
        return {
            "t": clock.now(),
            "clients": box.clients,
            "samples": contact.samples,
            "sent": box.sent,
            "starts": box.starts,
            "biases": box.biases,
            "refused": box.refused,
            "f": contact.wrench[0],
            "tau": contact.wrench[1],
            "p_WB": [float(part) for part in contact.X_WB["p"]],
            "faults": dict(box.line.done),
        }

    with box:
        yield lambda line: child.obey(line, box, SWITCHES, {"status": status})


def main() -> None:
    child.live(run)


if __name__ == "__main__":
    main()
