"""Lines of keys in a TOML file: without its line, a key is missing from the parsed tree."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt import job
from hilt.core import places, registry
from hilt.core.faults import InputError

TEXT = """# a comment with = in it
system = "docking"
"loop".period = 1
robot = {kind = "delay", delay = 1}  # inline

[ servicer ]  # moves
mass = 1
inertia = [
    1, 2,
    3]

[[push]]
start = 1
[[push]]
start = 2
[push.more]
x = 1
"""


def test_lines_of_keys_and_tables():
    found = places.lines(TEXT)
    assert found["system"] == 2
    assert found["loop.period"] == 3
    assert found["robot"] == 4
    assert (found["servicer"], found["servicer.mass"], found["servicer.inertia"]) == (6, 7, 8)
    assert (found["push.0"], found["push.0.start"], found["push.1.start"]) == (12, 13, 15)


def test_a_key_that_is_not_there_is_where_its_table_is():
    at = {key: str(number) for key, number in places.lines(TEXT).items()}
    assert places.place("robot.delay", at) == "4"
    assert places.place("servicer.inertia.2", at) == "8"
    assert places.place("servicer.nothing", at) == "6"
    assert places.place("nowhere", at) == ""


NAMES = st.text("abcxyz_", min_size=1, max_size=6)


@given(st.dictionaries(NAMES, st.dictionaries(NAMES, st.integers(0, 9), min_size=1, max_size=4), max_size=4))
def test_every_key_of_a_file_is_found_on_its_line(tree):
    """Removing the reported line from the file removes the key from the tree."""
    text = "".join(
        f"[{table}]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items()) for table, keys in tree.items()
    )
    assert tomllib.loads(text) == tree
    for table, keys in tree.items():
        for key in keys:
            kept = text.splitlines()
            del kept[places.lines(text)[f"{table}.{key}"] - 1]
            assert key not in tomllib.loads("\n".join(kept))[table]


BAD = """system = "docking"
[loop]
period = "1 ms"
[servicer]
mass = "12 mm"
[target]
mas = "60 kg"
[approach]
speed = "-8 mm/s"
[frames]
gap = "15 mm"
[contact]
[robot]
kind = "magic"
"""
WRONG = {
    "target.mas": 7,
    "servicer.mass": 5,
    "approach.speed": 9,
    "robot.kind": 14,
    "loop.duration": 2,
    "target.mass": 6,
    "contact.stiffness": 12,
}


def test_all_errors_of_a_file_come_at_once_each_with_key_and_line(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    with pytest.raises(InputError) as caught:
        job.find(str(path), None, [])
    head, *lines = str(caught.value).split("\n")
    assert head == f"{len(WRONG)} values are wrong or missing:"
    assert caught.value.keys == tuple(WRONG)
    for line, (key, number) in zip(lines, WRONG.items(), strict=True):
        assert line.strip().startswith(f"{key} is ")
        assert line.endswith(f"(bad.toml, line {number})")


def test_one_error_is_one_sentence_with_its_line(tmp_path):
    path = tmp_path / "my.toml"
    path.write_text(registry.system("docking").template.replace('"16 ms"', '"3 kg"'))
    with pytest.raises(InputError, match=r"^robot\.delay is '3 kg'; .* \(my\.toml, line \d+\)$"):
        job.find(str(path), None, [])


def test_what_was_set_on_the_command_line_is_not_in_the_file():
    with pytest.raises(InputError) as caught:
        job.find("docking", "table1", ["robot.delay=3 kg"])
    assert "line" not in str(caught.value)
