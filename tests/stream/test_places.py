"""What the options of a stream may say, and the sentences for everything else."""

import json

import pytest

from hilt.core.faults import InputError
from hilt.stream import rmw
from hilt.stream.places import Place, places
from tests.e2e.command import here
from tests.stream.streamed import free_port


def test_only_this_machine_unless_another_address_is_given():
    assert places("foxglove,ros2", "--stream") == [Place("foxglove", "127.0.0.1", 8765), Place("ros2", "127.0.0.1", 7447)]
    assert places("foxglove@0.0.0.0", "--stream") == [Place("foxglove", "0.0.0.0", 8765)]
    assert places("foxglove@0.0.0.0:9000, ros2@10.0.0.7:7448", "--stream") == [
        Place("foxglove", "0.0.0.0", 9000),
        Place("ros2", "10.0.0.7", 7448),
    ]
    assert places("foxglove@localhost:1", "--stream") == [Place("foxglove", "127.0.0.1", 1)]
    for text, host, port in (("::1", "::1", 8765), ("[::1]:80", "::1", 80), ("[::]", "::", 8765)):
        (found,) = places(f"foxglove@{text}", "--stream")
        assert (found.host, found.port) == (host, port)
        assert found.address == f"[{host}]:{port}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "known are foxglove, ros2"),
        ("rviz", "known are foxglove, ros2"),
        ("foxglove,foxglove@0.0.0.0", "twice"),
        ("foxglove@host.example", "must be an IP address"),
        ("foxglove@127.0.0.1:http", "must be an IP address"),
        ("ros2@127.0.0.1:0", "1 to 65535"),
        ("ros2@127.0.0.1:65536", "1 to 65535"),
    ],
)
def test_anything_else_is_one_sentence(text, words):
    with pytest.raises(InputError, match=words):
        places(text, "--stream")


def test_a_simulated_run_that_streams_is_recorded_like_any_other(tmp_path):
    place = f"foxglove@127.0.0.1:{free_port()}"
    done = here(tmp_path, "run", "freefloat", "--stream", place, "--set", "loop.duration=0.3 s", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["timing"]["rows_lost"] == 0
    assert (tmp_path / found["recording"]).is_file()
    assert f"Foxglove: ws://{place.partition('@')[2]}" in done.stderr
    assert "Foxglove: 0 messages" in done.stderr


@pytest.mark.parametrize("value", ["-1", "233", "one"])
def test_a_domain_that_ros_does_not_have_is_one_sentence(monkeypatch, value):
    monkeypatch.setenv("ROS_DOMAIN_ID", value)
    with pytest.raises(InputError, match=f"ROS_DOMAIN_ID is '{value}'"):
        rmw.domain()
    monkeypatch.setenv("ROS_DOMAIN_ID", "42")
    assert rmw.domain() == 42
