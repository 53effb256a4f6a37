"""A Foxglove viewer beside a run on the dry lab: it sees what is recorded, and stopping it disturbs nobody."""

import json
import os
import signal
import subprocess

import numpy as np
import pytest

from hilt.lab.dry.facility import running_facility
from tests.e2e.lab import SHORT, patient_rig, stop
from tests.peers import ROOT, node_with
from tests.stream.streamed import place, streamed, wanted

FOLDER = ROOT / "tests" / "stream" / "foxglove"
LONG = 60.0


@pytest.fixture(scope="module")
def facility():
    node_with(FOLDER)
    with running_facility(patient_rig(), list(SHORT)) as found:
        yield found


class Viewer:
    """The public client as a process, subscribed to everything."""

    def __init__(self, here, target, subprotocol="foxglove.sdk.v1"):
        self.target = target
        command = [node_with(FOLDER), "client.mjs", f"ws://{here.address}", subprotocol, str(target)]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "subscribed\n"

    def seen(self):
        self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0
        return json.loads(self.target.read_text())


def run(facility, folder, here, do=lambda: None, duration="2 s"):
    settings = [SHORT[0], "collisions=1000", f"loop.duration='{duration}'"]
    facility.control.clear()
    facility.control.live(False)
    facility.control.restart()
    with streamed(folder, "docking", "table1", settings, wanted(here), facility.rig) as (session, said):
        facility.control.live(True)
        do()
        result = session.go()
        facility.control.live(False)
    return result, said


def number(text):
    return -0.0 if text == "-0" else float(text)


def vector(found, *names):
    return [[number(each[name]) for name in names] for each in found]


def test_every_decoded_row_and_pose_is_that_of_the_recording(facility, tmp_path):
    here, viewers = place("foxglove"), []
    result, said = run(facility, tmp_path, here, lambda: viewers.append(Viewer(here, tmp_path / "seen.json")))
    seen = viewers[0].seen()
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert not seen["warnings"], said

    rows = result.rows
    channel = seen["topics"]["/hilt/docking"]
    assert (channel["encoding"], channel["schemaEncoding"]) == ("cdr", "ros2msg")
    messages = [each["content"] for each in channel["messages"]]
    assert [int(each["tick"]) for each in messages] == rows["tick"].tolist(), "subscribed before the run: every row"
    assert [number(each["t"]) for each in messages] == rows["t"].tolist()
    for name in ("X_WB_meas", "X_WB_cmd"):
        places = [each[name.lower()] for each in messages]
        assert np.array_equal([list(map(number, each["p"])) for each in places], rows[name]["p"])
        assert np.array_equal([list(map(number, each["q"])) for each in places], rows[name]["q"])

    some = rows[rows["tick"] % 5 == 0]  # 50 Hz of 250 Hz
    poses = [each["content"]["pose"] for each in seen["topics"]["/hilt/docking/X_WB_meas"]["messages"]]
    assert np.array_equal(vector([each["position"] for each in poses], *"xyz"), some["X_WB_meas"]["p"])
    assert np.array_equal(vector([each["orientation"] for each in poses], *"wxyz"), some["X_WB_meas"]["q"])
    forces = [each["content"]["wrench"]["force"] for each in seen["topics"]["/hilt/docking/F_So_S"]["messages"]]
    assert np.array_equal(vector(forces, *"xyz"), some["F_So_S"]["f"])
    frames = {each["child_frame_id"] for each in seen["topics"]["/tf"]["messages"][-1]["content"]["transforms"]}
    assert {"W", "S", "B_meas", "B_cmd"} <= frames


def test_a_stopped_viewer_costs_no_row(facility, tmp_path):
    here, viewers = place("foxglove"), []

    def begin():
        viewers.append(Viewer(here, tmp_path / "seen.json", "foxglove.websocket.v1"))
        stop(viewers[0].process.pid)

    result, said = run(facility, tmp_path, here, begin)
    os.kill(viewers[0].process.pid, signal.SIGCONT)
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert result.timing["rows"] == len(result.rows)
    assert "Foxglove: " in said[-1]
    viewers[0].process.communicate(timeout=LONG)
