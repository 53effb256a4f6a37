"""Strangers in the dry lab: they send to the robot's port, use its sensor, and start a second run."""

import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from hilt.core.faults import InputError
from hilt.device import peer
from hilt.device.netft import codec as ft
from tests.contract.test_strangers import Poser, packet
from tests.e2e.lab import Run, until
from tests.e2e.test_lab_faults import check_contact, switch

pytestmark = pytest.mark.lab

ONE = ["collisions=1"]
FLOOD = """
import socket, sys
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as flood:
    flood.bind(("127.0.0.2", 0))
    for k in range(int(sys.argv[3])):
        flood.sendto(sys.argv[2].encode(), ("127.0.0.1", int(sys.argv[1])))
"""


def bias(run):
    """Another client of the sensor sets its zero."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as other:
        other.sendto(ft.encode_request(ft.BIAS), ("127.0.0.1", run.facility.rig.sensor["port"]))


def port_of(run):
    return run.facility.rig.robot["port"]


def test_a_bias_set_by_another_client_in_contact_stops_the_robot(run):
    def in_contact(each):
        until(lambda: np.linalg.norm(each.control.status()["sensor"]["f"]) > 80.0)
        bias(each)

    result = run(in_contact, after=0.0)
    assert result.fault is not None
    assert result.fault.name == "sensor-jump"
    assert "zeroed it" in result.fault.sentence
    assert result.timing["devices"]["sensor"]["jumps"] == 1
    felt = np.linalg.norm(result.rows["F_So_S"]["f"], axis=1)
    assert felt[-2] > 50.0, "in contact"
    assert felt[-2] - felt[-1] > 25.0, "and biased: nothing was sent in that row"


def test_a_bias_in_free_flight_changes_nothing(run):
    result = run(bias, settings=ONE, after=0.1)
    assert result.fault is None
    check_contact(result)


@pytest.mark.parametrize(("load", "fault"), [((4000, 0, 0, 0, 0, 0), "force"), ((0, 0, 0, 0, 400, 0), "torque")])
def test_without_a_bound_on_jumps_the_guard_still_finds_the_load(run, load, fault):
    assert run(switch("sensor.jump", load), sensor={"jump_force": 0, "jump_torque": 0}).fault.name == fault


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_a_poser_during_a_run_is_reported_and_changes_nothing(run, address):
    names = []

    def pose(each):
        with Poser(port_of(each), address, ipoc=each.control.status()["robot"]["ipoc"]) as poser:
            time.sleep(0.3)
            names.append(poser.name)
            assert poser.answers == 0

    result = run(pose, settings=ONE, after=0.0)
    assert result.fault is None
    check_contact(result)
    counted = result.timing["devices"]["robot"]
    assert counted["strangers"] > 10
    assert (counted["rejected"], counted["restarts"], counted["duplicates"]) == (0, 0, 0)
    (note,) = [each for each in result.notes if "unknown senders" in each]
    assert f"{counted['strangers']} packets from unknown senders ({names[0]})" in note
    assert note in [each["sentence"] for each in result.as_json()["faults"]]
    assert np.abs(result.rows["X_WB_meas"]["p"]).max() < 0.1, "its positions are not used"


def test_a_flood_during_a_run_is_survived(run):
    def flood(each):
        subprocess.run([sys.executable, "-c", FLOOD, str(port_of(each)), packet(1000).decode(), "30000"], check=True)

    result = run(flood, settings=ONE, after=0.0)
    assert result.fault is None
    assert result.timing["devices"]["robot"]["strangers"] >= peer.COUNTED
    assert any("the kernel drops them" in note for note in result.notes)


def test_a_second_run_on_the_rig_is_refused_and_the_first_is_not_disturbed(run, facility, tmp_path):
    refused, seen = [], []

    def second(each):
        before = each.control.status()
        other = Run(facility, tmp_path / "second", settings=ONE)
        try:
            with pytest.raises(InputError) as error:
                other.session.open()
            refused.append(str(error.value))
        finally:
            other.session.close()
        seen.extend([before, each.control.status()])

    result = run(second, settings=ONE, after=0.1)
    assert result.fault is None
    check_contact(result)
    assert "cannot listen for the robot" in refused[0]
    assert "end the other program" in refused[0]
    before, after = (status["sensor"] for status in seen)
    assert (after["starts"], after["clients"]) == (before["starts"], before["clients"]) == (before["starts"], 1)
    assert after["biases"] == before["biases"]
    assert seen[1]["robot"]["strangers"] == seen[0]["robot"]["strangers"], "the robot got answers from one run only"


def test_corrections_of_a_stranger_do_not_move_the_emulated_robot(run):
    from hilt.device import frames
    from hilt.device.rsi import codec

    def steer(each):
        correction = frames.identity()
        correction["p"][1] = 1e-3
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            for _ in range(10):
                status = each.control.status()["robot"]
                host, _, port = status["address"].partition(":")
                for ahead in range(0, 80, 4):
                    stranger.sendto(codec.encode_sen(correction, status["ipoc"] + ahead), (host, int(port)))
        until(lambda: each.control.status()["robot"]["strangers"] > 0)

    result = run(steer, settings=ONE, after=0.0)
    assert result.fault is None
    assert np.abs(result.rows["X_WB_meas"]["p"][:, 1]).max() < 1e-6
