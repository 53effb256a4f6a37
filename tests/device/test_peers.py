"""Third-party clients against our emulated devices."""

import json
import os
import subprocess

import pytest

from hilt.device.arm import ArmSettings
from hilt.device.netft.codec import Calibration
from hilt.device.netft.emulator import NetFTBox
from hilt.device.rtde.emulator import UrController
from tests.peers import python_with

pytestmark = pytest.mark.wall
FORCE, TORQUE = (10.0, -20.0, 30.0), (1.0, 2.0, -3.0)
LONG = 60.0  # [s]


def own_address():
    """An address of this machine that no other test uses: the clients' ports are fixed."""
    number = os.getpid()
    return f"127.{49 + (number >> 16) % 100}.{number >> 8 & 255}.{number & 255 or 1}"


def run(module, program, *arguments):
    """What a client's program prints, as JSON."""
    command = [python_with(module), "-P", "-c", program, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LONG)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


NETFT = """
import json, sys, time
from NetFT import Sensor
sensor = Sensor(sys.argv[1])
single = sensor.getMeasurement()
mean = sensor.tare(20)
tared = sensor.getMeasurement()
sensor.zero()
sensor.startStreaming()
seen = set()
end = time.monotonic() + 30
while len(seen) < 100 and time.monotonic() < end:
    seen.add(tuple(sensor.measurement()))
sensor.stopStreaming()
print(json.dumps({"single": single, "mean": mean, "tared": tared, "streamed": len(seen), "last": sensor.measurement()}))
"""


def test_netft_of_others_takes_a_sample_tares_and_streams():
    """Counts of 10⁶ per N and per N·m; one count comes and goes, so that records of a stream can be told apart."""
    turn = 0

    def load():
        nonlocal turn
        turn += 1
        return (FORCE[0] + 1e-6 * (turn % 1000), *FORCE[1:]), TORQUE

    python_with("NetFT")
    wanted = [round(1e6 * part) for part in (*FORCE, *TORQUE)]
    with NetFTBox(load, Calibration(1e6, 1e6), 1000.0, own_address(), 49152) as box:
        found = run("NetFT", NETFT, box.address)
        assert found["single"] == pytest.approx(wanted, abs=1000)
        assert found["mean"] == pytest.approx(wanted, abs=1000)
        assert found["tared"] == pytest.approx([0] * 6, abs=1000)
        assert found["streamed"] >= 100
        assert found["last"] == pytest.approx(wanted, abs=1000)
        assert (box.refused, box.biases) == (0, 0)


UR = """
import json, sys, time
from rtde_io import RTDEIOInterface
from rtde_receive import RTDEReceiveInterface

def settle(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.01)
    return condition()

receive = RTDEReceiveInterface(sys.argv[1], 500.0)
stamps = set()
end = time.monotonic() + 30
while len(stamps) < 250 and time.monotonic() < end:
    stamps.add(receive.getTimestamp())
    time.sleep(2e-4)
steps = sorted({round(1e3 * (b - a)) for a, b in zip(sorted(stamps)[1:], sorted(stamps)[2:])})
found = {"stamps": len(stamps), "least": steps[0], "pose": receive.getActualTCPPose(), "force": receive.getActualTCPForce()}
found["mode"] = receive.getRobotMode()
write = RTDEIOInterface(sys.argv[1])
found["wrote"] = write.setInputDoubleRegister(20, 3.5)
found["copied"] = settle(lambda: receive.getOutputDoubleRegister(12) == 3.5)
receive.disconnect()
found["gone"] = not receive.isConnected()
found["again"] = receive.reconnect()
before = receive.getTimestamp()
found["goes on"] = settle(lambda: receive.getTimestamp() > before)
print(json.dumps(found))
"""


class Copying(UrController):
    """A controller whose program copies an input register to an output register."""

    def _run(self, due):
        super()._run(due)
        self.server.outputs["output_double_register_12"] = self.server.inputs.get("input_double_register_20", 0.0)


def test_ur_rtde_reads_pose_and_force_writes_a_register_and_reconnects():
    python_with("rtde_receive")
    with Copying(own_address(), 30004, 30002, ArmSettings(cycle=0.002), lambda: (FORCE, TORQUE)) as arm:
        found = run("rtde_receive", UR, arm.server.address)
        assert found["stamps"] >= 250
        assert found["least"] == 2, "ms from one package to the next: 500 Hz"
        assert found["pose"] == pytest.approx([1.0, 0.0, 1.0, 0.0, 0.0, 0.0])
        assert found["force"] == pytest.approx([*FORCE, *TORQUE])
        assert found["mode"] == 7
        assert found["wrote"]
        assert found["copied"], "a register written by one client and read by another"
        assert found["gone"]
        assert found["again"]
        assert found["goes on"]
        assert arm.server.refused == 0
