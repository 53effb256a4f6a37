"""One stage of aerial by itself, with the simplest values for every section that a test does not name."""

from types import SimpleNamespace

import numpy as np

from hilt.core.scenario import Loop
from hilt.core.signals import row_type
from hilt.plant.link import Link
from hilt.plant.sensor import Sensor
from hilt.systems.aerial.aerial import AERIAL
from hilt.systems.aerial.force_filter import ForceFilter
from hilt.systems.aerial.gains import Gains
from hilt.systems.aerial.hardware_admittance import Hardware
from hilt.systems.aerial.hardware_arm import HardwareArm
from hilt.systems.aerial.interface import Frames
from hilt.systems.aerial.port_guard import PortPassivity
from hilt.systems.aerial.servo import Servo
from hilt.systems.aerial.tank import Tank
from tests.packing import pack

DT = 0.005
LEVEL, DOWN = (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0)
START = ((0.5, 0.0, 0.4), DOWN)
SIMPLEST = {
    "loop": Loop(period=DT, duration=1.0),
    "link": Link(),
    "frames": Frames(),
    "hardware_arm": HardwareArm(),
    "hardware": Hardware(),
    "force_filter": ForceFilter(bandwidth=100.0, bias_samples=0),
    "sensor": Sensor(),
    "servo": Servo(kind="lag", lag=0.015),
    "port_passivity": PortPassivity(enabled=False),
    "gains": Gains(),
    "tank": Tank(),
    "start_of_tool": START,
    "start_of_simulated_tool": ((0.1, 0.0, 1.7), LEVEL),
    "start_of_base": ((0.0, 0.0, 2.0), 0.0),
    "noise_key": lambda name: len(name),
}


def level(row):
    """No signal of a row is turned."""
    for name in row.dtype.names:
        if "q" in (row.dtype[name].names or ()):
            row[0][name].q = LEVEL


def make(kind, **sections):
    """Row, state and parameters of the stage."""
    row = np.zeros(1, row_type({*kind.reads, *kind.writes}))
    x, p = np.zeros(1, kind.state)[0], np.zeros(1, kind.params)[0]
    level(row)
    pack(AERIAL, kind, p, SimpleNamespace(**{**SIMPLEST, **sections}))
    kind.reset(row[0], x, p)
    return row[0], x, p
