"""A Foxglove viewer beside a run on the dry lab: it gets what is recorded, and stopping it disturbs nothing."""

import json
import os
import signal
import subprocess

import numpy as np
import pytest

from hilt.lab.dry.facility import running_facility
from tests.e2e.lab import patient_rig, stop
from tests.peers import ROOT, node_with
from tests.stream.streamed import place, streamed, wanted

pytestmark = pytest.mark.lab

FOLDER = ROOT / "tests" / "stream" / "foxglove"
LONG = 60.0
FAR = "frames.gap='60 mm'"  # nothing is touched within these runs: a host that stalls in a contact would end them


class Viewer:
    """The public client as a process, subscribed to everything."""

    def __init__(self, here, target, subprotocol):
        self.target = target
        command = [node_with(FOLDER), "client.mjs", f"ws://{here.address}", subprotocol, str(target)]
        self.process = subprocess.Popen(command, cwd=FOLDER, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "subscribed\n"

    def seen(self):
        self.process.communicate(timeout=LONG)
        assert self.process.returncode == 0
        return json.loads(self.target.read_text())


def number(text):
    return -0.0 if text == "-0" else float(text)


def vector(found, *names):
    return [[number(each[name]) for name in names] for each in found]


def test_every_decoded_row_and_pose_is_that_of_the_recording_whoever_else_hangs(tmp_path):
    """Beside the viewer is one that is stopped before the run."""
    node_with(FOLDER)
    here, viewers, settings = place("foxglove"), [], [FAR, "collisions=1000", "loop.duration='2 s'"]
    with (
        running_facility(patient_rig(), [FAR, "loop.duration='8 s'"]) as facility,
        streamed(tmp_path, "docking", "table1", settings, wanted(here), facility.rig) as (session, said),
    ):
        facility.control.live(True)
        for name, protocol in (("seen", "foxglove.sdk.v1"), ("hung", "foxglove.websocket.v1")):
            viewers.append(Viewer(here, tmp_path / f"{name}.json", protocol))
        stop(viewers[1].process.pid)
        result = session.go()
        facility.control.live(False)
    os.kill(viewers[1].process.pid, signal.SIGCONT)
    viewers[1].process.communicate(timeout=LONG)
    seen = viewers[0].seen()
    assert result.fault is None
    assert result.timing["rows_lost"] == 0
    assert result.timing["rows"] == len(result.rows)
    assert not seen["warnings"], said
    assert "Foxglove: " in said[-1]

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
