"""Strangers in the dry lab: they send to the robot's port, use its sensor, and start a second run."""

import socket

import numpy as np
import pytest

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.device import frames, peer
from hilt.device.netft import codec as ft
from hilt.device.rsi import codec
from hilt.host import machine
from tests.e2e.lab import Run, until
from tests.e2e.test_lab_faults import TWIN, check_contact

pytestmark = pytest.mark.virtual


def stranger(address="127.0.0.1"):
    made = machine.socket(socket.AF_INET, socket.SOCK_DGRAM)
    made.bind((address, 0))
    return made


def bias(run):
    """Another client of the sensor sets its zero."""
    with stranger() as other:
        other.sendto(ft.encode_request(ft.BIAS), ("127.0.0.1", run.file.sensor["port"]))


def test_a_bias_set_by_another_client_in_contact_stops_the_robot(lab):
    def in_contact(run):
        until(lambda: np.linalg.norm(run.control.status()["sensor"]["f"]) > 80.0)
        bias(run)

    result = lab("dry-lab").go(in_contact, after=0.0)
    assert result.fault.name == "sensor-jump"
    assert "zeroed it" in result.fault.sentence
    assert result.timing["devices"]["sensor"]["jumps"] == 1
    felt = np.linalg.norm(result.rows["F_So_S"]["f"], axis=1)
    assert felt[-2] > 50.0, "in contact"
    assert felt[-2] - felt[-1] > 25.0, "and biased: nothing was sent in that row"


def test_a_bias_in_free_flight_changes_nothing(lab):
    result = lab("dry-lab", *TWIN).go(bias, after=0.1)
    assert result.fault is None
    check_contact(result)


def packet(ipoc):
    """What a robot would send that is somewhere else."""
    rob = np.zeros(1, codec.ROB)[0]
    for pose in (rob["X_act"], rob["X_set"]):
        pose["p"], pose["q"] = (2.0, 0.5, 0.5), (1.0, 0.0, 0.0, 0.0)
    rob["ipoc"] = ipoc
    return codec.encode_rob(rob)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_a_poser_during_a_run_is_reported_and_changes_nothing(lab, address):
    """It sends from another port or another address, every 4 ms for 0.3 s, and gets no answer."""
    names = []

    def pose(run):
        ipoc = run.judged()["ipoc"]
        with stranger(address) as poser:
            poser.setblocking(False)
            names.append(peer.named(poser.getsockname()))
            for _ in range(75):
                ipoc += 4
                poser.sendto(packet(ipoc), ("127.0.0.1", run.file.robot["port"]))
                clock.pause(0.004)
            with pytest.raises(BlockingIOError):
                poser.recvfrom(4096)

    result = lab("dry-lab", *TWIN).go(pose, after=0.1)
    assert result.fault is None
    check_contact(result)
    counted = result.timing["devices"]["robot"]
    assert counted["strangers"] == 75
    assert (counted["rejected"], counted["restarts"], counted["duplicates"]) == (0, 0, 0)
    (note,) = [each for each in result.notes if "unknown senders" in each]
    assert f"75 packets from unknown senders ({names[0]})" in note
    assert note in [each["sentence"] for each in result.as_json()["faults"]]
    assert np.abs(result.rows["X_WB_meas"]["p"]).max() < 0.1, "its positions are not used"


def test_a_flood_during_a_run_is_survived(lab):
    def flood(run):
        with stranger() as other:
            for k in range(30_000):
                other.sendto(packet(1000), ("127.0.0.1", run.file.robot["port"]))
                if k % 100 == 0:
                    clock.pause(0.001)

    result = lab("dry-lab", *TWIN).go(flood, after=0.1)
    assert result.fault is None
    assert result.timing["devices"]["robot"]["strangers"] >= peer.COUNTED
    assert any("the kernel drops them" in note for note in result.notes)


def test_a_second_run_on_the_rig_is_refused_and_the_first_is_not_disturbed(lab, machine, tmp_path):
    refused, seen = [], []

    def second(run):
        other = Run(run.facility, tmp_path / "second")
        with pytest.raises(InputError) as error:
            other.session.open()
        other.close()
        refused.append(str(error.value))

    def beside(run):
        seen.append(run.control.status())
        machine.begin("hilt", lambda: second(run)).wait(10.0)
        seen.append(run.control.status())

    result = lab("dry-lab", *TWIN).go(beside, after=0.1)
    assert result.fault is None
    check_contact(result)
    assert "cannot listen for the robot" in refused[0]
    assert "end the other program" in refused[0]
    before, after = (status["sensor"] for status in seen)
    assert (after["starts"], after["clients"]) == (before["starts"], before["clients"]) == (before["starts"], 1)
    assert after["biases"] == before["biases"]
    assert seen[1]["robot"]["strangers"] == seen[0]["robot"]["strangers"], "the robot got answers from one run only"


def test_corrections_of_a_stranger_do_not_move_the_emulated_robot(lab):
    def steer(run):
        correction = frames.identity()
        correction["p"][1] = 1e-3
        with stranger() as other:
            for _ in range(10):
                status = run.judged()
                host, _, port = status["address"].partition(":")
                for ahead in range(0, 80, 4):
                    other.sendto(codec.encode_sen(correction, status["ipoc"] + ahead), (host, int(port)))
                clock.pause(0.004)

    run = lab("dry-lab", *TWIN)
    result = run.go(steer, after=0.0)
    assert result.fault is None
    assert run.judged()["strangers"] == peer.COUNTED, "then the kernel drops them"
    assert np.abs(result.rows["X_WB_meas"]["p"][:, 1]).max() < 1e-6
