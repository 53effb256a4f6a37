"""Untrusted recordings: whatever a file contains, it gives one sentence or rows, in bounded memory, and hides no other file."""

import functools
import itertools
import json
import os
import shutil
import struct
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import lz4.frame
import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st
from mcap.writer import CompressionType, Writer

from benchmarks.memory import highest
from hilt import job
from hilt.cockpit.film import Film
from hilt.cockpit.library import Library
from hilt.cockpit.player import Player
from hilt.core import faults, registry
from hilt.core.faults import InputError
from hilt.record import container, reading, recording
from tests.e2e.command import here
from tests.patience import within

GIGABYTE = 1 << 30
RUNS = int(os.environ.get("HILT_FUZZ", 400))


def record(opcode, body):
    return struct.pack("<BQ", opcode, len(body)) + body


def text(string):
    data = string.encode() if isinstance(string, str) else string
    return struct.pack("<I", len(data)) + data


def metadata(name, texts):
    entries = b"".join(text(key) + text(value) for key, value in texts.items())
    return record(12, text(name) + struct.pack("<I", len(entries)) + entries)


def chunk(packed, compression="zstd", claimed=None, crc=0):
    claimed = len(packed) if claimed is None else claimed
    return record(6, struct.pack("<QQQI", 0, 0, claimed, crc) + text(compression) + struct.pack("<Q", len(packed)) + packed)


def file_of(*records):
    return container.MAGIC + record(1, text("ros2") + text("test")) + b"".join(records)


def origin(run, **changes):
    texts = recording.origin_of(run.system, run.scenario) | changes
    return metadata("hilt", {key: value for key, value in texts.items() if value is not None})


def messages(rows):
    """Rows as the messages of a chunk."""
    head = struct.pack("<HIQQ", 1, 0, 0, 0) + container.CDR_LITTLE_ENDIAN
    return b"".join(record(5, head + row.tobytes()) for row in rows)


def packed(rows):
    plain = messages(rows)
    return chunk(zstandard.compress(plain), claimed=len(plain))


def result(run, **changes):
    return metadata("result", {"json": json.dumps(run.as_json() | changes)})


DEEP = "[" * 100_000 + "]" * 100_000
HUGE = b"\0" * (4 << 20)


@functools.cache
def silent():
    """4.3 GB, their size not in their header."""
    stream = zstandard.ZstdCompressor(level=3).compressobj()
    return b"".join(stream.compress(HUGE) for _ in range(1024)) + stream.flush()


def promising():
    head = zstandard.compress(b"\0" * (1 << 24))
    return head[:6] + b"\xff\xff\xff\x7f" + head[10:]


BOMBS = {  # small files that would unpack to gigabytes
    "zstd, as it says": lambda: chunk(silent(), claimed=4 << 30),
    "zstd, and it lies": lambda: chunk(silent(), claimed=1 << 20),
    "zstd, a head that promises gigabytes": lambda: chunk(promising(), claimed=1 << 20),
    "lz4, and it lies": lambda: chunk(lz4.frame.compress(b"\0" * (256 << 20)), "lz4", claimed=1 << 20),
    "not packed, and it lies": lambda: chunk(b"\0" * 64, "", claimed=1 << 62),
    "an unknown way": lambda: chunk(b"\0" * 64, "xz" * 20),
    "a name of 4 GB": lambda: record(6, struct.pack("<QQQII", 0, 0, 8, 0, 0xFFFFFFFF) + b"zstd"),
}


def cases(run):
    """Files by name; each of them must give one sentence."""
    rows = run.rows
    row = json.dumps(json.loads(recording.origin_of(run.system, run.scenario)["row"]))
    good = packed(rows[:100])
    yield "empty", b""
    yield "not even a container", os.urandom(4096)
    yield "a text", b"# a diary\n" * 100
    yield "only the magic", container.MAGIC
    yield "no metadata", file_of(good)
    for key in ("system", "scenario", "row"):
        yield f"no {key}", file_of(origin(run, **{key: None}), good)
        yield f"{key} is no JSON and no name", file_of(origin(run, **{key: "{"}), good)
        yield f"{key} is deep", file_of(origin(run, **{key: DEEP}), good)
        yield f"{key} is a number", file_of(origin(run, **{key: "1" * 5000}), good)
    yield "foreign scenario", file_of(origin(run, scenario='{"a": 1}'), good)
    yield "another system", file_of(origin(run, system="docking"), good)
    yield "metadata that are longer than their record", file_of(record(12, text("hilt") + b"\xff\xff\xff\x7f"), good)
    yield "metadata that are no text", file_of(record(12, text("hilt") + text(text(b"\xff") + text(b"\xfe"))), good)
    yield "a metadata record of an exabyte", file_of(struct.pack("<BQ", 12, 1 << 60), good)
    for name, wrong in {
        "result is a list": "[1]",
        "result is deep": json.dumps(run.as_json())[:-1] + ', "x": ' + "[" * 500 + "]" * 500 + "}",
        "result without a scenario": "{}",
    }.items():
        yield name, file_of(origin(run), good, metadata("result", {"json": wrong}))
    for name, wrong in {
        "metrics are a list": {"metrics": [1]},
        "fault is a word": {"fault": "x"},
        "recording is a number": {"recording": 7},
        "changes are numbers": {"changes": [1, 2]},
        "changes are one number": {"changes": 5},
        "a change of a long number": {"changes": [{"tick": 1, "key": "a", "value": 10**400, "ramp": 0}]},
    }.items():
        yield name, file_of(origin(run), good, result(run, **wrong))
    for name, fields in {
        "no fields": "[]",
        "fields are a word": '"tick"',
        "a field is a word": '["tick"]',
        "a row of objects": '[["tick", "O", []], ["t", "<f8", []]]',
        "a row of exabytes": '[["tick", "<i8", []], ["t", "<f8", []], ["x", "<f8", [1152921504606846976]]]',
        "a row of gigabytes, nested": '[["a", [["b", "<f8", [1000, 1000]]], [1000, 1000]]]',
        "a negative shape": '[["tick", "<i8", []], ["t", "<f8", []], ["x", "<f8", [-1]]]',
        "a shape of words": '[["tick", "<i8", []], ["t", "<f8", []], ["x", "<f8", ["a"]]]',
        "a shape of many sizes": '[["tick", "<i8", []], ["t", "<f8", []], ["x", "<f8", [1, 1, 1, 1, 1, 1]]]',
        "the same name twice": '[["tick", "<i8", []], ["tick", "<i8", []], ["t", "<f8", []]]',
        "names of nobody": '[["", "<i8", []], ["t", "<f8", []]]',
        "big-endian": row.replace("<f8", ">f8"),
        "a million fields": json.dumps([[f"x{i}", "<f8", []] for i in range(1_000_00)]),
        "no time": '[["tick", "<i8", []], ["x", "<f8", []]]',
        "time as words": '[["tick", "<i8", []], ["t", [["x", "<f8", []]], []]]',
        "other signals": '[["tick", "<i8", []], ["t", "<f8", []]]',
    }.items():
        yield name, file_of(origin(run, row=fields), good)
    for name, kinds in {"no time, and rows that fit": "tick x", "no tick, and rows that fit": "t x"}.items():
        short = np.zeros(100, [(field, "<i8" if field == "tick" else "<f8") for field in kinds.split()])
        fields = [[field, short.dtype[field].str, []] for field in short.dtype.names]
        yield name, file_of(origin(run, row=json.dumps(fields)), packed(short))
    backwards = rows[:100][::-1].copy()
    endless = rows[:100].copy()
    endless["t"][50] = np.nan
    twice = rows[[*range(50), 49]].copy()
    yield "time goes backwards", file_of(origin(run), packed(backwards))
    yield "time is not a number", file_of(origin(run), packed(endless))
    yield "a tick twice", file_of(origin(run), packed(twice))
    yield "rows of another size", file_of(origin(run), chunk(zstandard.compress(b"\5" * 5000), claimed=5000))
    yield "many records without rows", file_of(origin(run), record(3, b"") * 100_000)
    yield "a chunk of many records without rows", file_of(origin(run), chunk(record(3, b"") * 100_000, ""))
    yield "a chunk that is too short", file_of(origin(run), record(6, b"abc"))
    for name, bomb in BOMBS.items():
        yield name, file_of(origin(run), bomb())


def one_sentence(words):
    """A message for the user: one line, no traceback, readable at once."""
    return words.startswith("hilt: ") and words.count("\n") == 1 and len(words) < 1200 and "Traceback" not in words


@pytest.fixture(scope="module")
def folder(run, tmp_path_factory):
    """All of them, and a good one."""
    here = tmp_path_factory.mktemp("strangers")
    for number, (_, content) in enumerate(cases(run)):
        (here / f"bad-{number}.mcap").write_bytes(content)
    shutil.copy(run.recording, here / "good.mcap")
    return here


def names(run):
    return [name for name, _ in cases(run)]


def test_showing_or_replaying_each_is_one_sentence(run, folder):
    for number, name in enumerate(names(run)):
        for command in ("show", "replay"):
            done = here(folder, command, f"bad-{number}.mcap")
            assert done.returncode == 2, (name, command, done.stdout, done.stderr)
            assert one_sentence(done.stderr), (name, command, done.stderr)
    assert not list(folder.glob("*.html"))


def test_loading_each_in_a_program_gives_rows_or_one_sentence(run, folder):
    for number, name in enumerate(names(run)):
        try:
            found = recording.load(folder / f"bad-{number}.mcap")
        except InputError as error:
            assert len(str(error)) < 1200, name
        else:
            assert {"tick", "t"} <= set(found.rows.dtype.names), name


def test_opening_each_in_the_cockpit_is_one_sentence(run, folder):
    for number, name in enumerate(names(run)):
        with pytest.raises(InputError) as refused:
            Film(folder / f"bad-{number}.mcap")
        assert len(str(refused.value)) < 1200, name


def test_none_hides_the_others(folder):
    listed = {each["name"]: each for each in Library(folder).list()}
    assert listed["good"]["rows"] == 501
    json.dumps(list(listed.values()), allow_nan=False)
    for each in Library(folder).list():
        with nullcontext() if each["name"] == "good" else pytest.raises(InputError):
            Library(folder).open(each["name"])


@pytest.mark.parametrize("name", BOMBS)
def test_a_file_that_would_unpack_to_gigabytes_takes_no_memory(run, name, tmp_path):
    """In a process with at most one more gigabyte of address space: next to good rows, which stay readable."""
    path = tmp_path / "bomb.mcap"
    path.write_bytes(file_of(origin(run), packed(run.rows[:100]), BOMBS[name]()))
    assert path.stat().st_size < 2 << 20
    program = (
        "import resource, sys; from pathlib import Path;"
        "from benchmarks.memory import highest; from hilt.record import recording;"
        f"resource.setrlimit(resource.RLIMIT_AS, (3 * {GIGABYTE}, 3 * {GIGABYTE}));"
        "before = highest();"
        "print(len(recording.load(Path(sys.argv[1])).rows), highest() - before)"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", program, str(path)], capture_output=True, text=True, cwd=root)
    assert done.returncode == 0, done.stderr
    rows, taken = map(int, done.stdout.split())
    assert rows == 100
    assert taken < 200e6


@pytest.mark.parametrize("compression", [CompressionType.ZSTD, CompressionType.LZ4, CompressionType.NONE])
def test_every_compression_is_read(run, tmp_path, compression):
    path = tmp_path / "other.mcap"
    with path.open("wb") as stream:
        writer = Writer(stream, compression=compression)
        writer.start()
        writer.add_metadata("hilt", recording.origin_of(run.system, run.scenario))
        channel = writer.register_channel("/hilt/freefloat", "cdr", writer.register_schema("x", "ros2msg", b"x"))
        for row in run.rows:
            writer.add_message(channel, 0, container.CDR_LITTLE_ENDIAN + row.tobytes(), 0)
        writer.finish()
    assert recording.load(path).rows.tobytes() == run.rows.tobytes()


def test_a_pipe_a_folder_and_a_device_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.mcap")
    (tmp_path / "folder.mcap").mkdir()
    for path in ("pipe.mcap", "folder.mcap", "/dev/zero", "nothing.mcap"):
        for command in ("show", "replay"):
            with within():
                done = here(tmp_path, command, path)
            assert done.returncode == 2, path
            assert one_sentence(done.stderr), (path, done.stderr)
    with within():
        assert Library(tmp_path).list() == []


def test_rows_beyond_the_memory_limit_are_a_sentence(run, monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "LOADED_BYTES", 1000)
    found = recording.stored(run.recording)
    with pytest.raises(InputError, match="of memory at once"):
        _ = found.rows
    assert np.concatenate(list(found.chunks())).tobytes() == run.rows.tobytes()


@given(code=st.integers(-(2**63), 2**63 - 1), axis=st.integers(-(2**63), 2**63 - 1))
def test_an_unknown_fault_has_a_sentence(run, code, axis):
    row = run.rows[-1:].copy()
    row["fault"], row["fault_axis"] = code, axis
    fault = faults.read_fault(row[0])
    assert (fault is None) == (code == 0)
    if fault is not None:
        assert fault.sentence.startswith("stopped at t = ")
        json.dumps(fault.as_json(), allow_nan=False)
    assert faults.explain(code)


WILD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 5e-324, -0.0)


def spoiled(rows, seed):
    """Rows with arbitrary numbers in some of their signals."""
    rng = np.random.default_rng(seed)
    rows = rows.copy()
    for name in rows.dtype.names:
        if name in ("t", "tick") or rng.random() < 0.4:
            continue
        base = rows.dtype[name].base
        for part in base.names or (None,):
            values = rows[name] if part is None else rows[name][part]
            spots = rng.random(len(rows)) < rng.choice([0.02, 0.5, 1.0])
            if values.dtype.kind == "f":
                values[spots] = rng.choice(WILD, size=values[spots].shape)
            else:
                values[spots] = rng.integers(-(2**62), 2**62, size=values[spots].shape)
    return rows


def look_at(path):
    """Open it as the cockpit does."""
    player = Player([Film(path)])
    for t in (0.0, 0.1, 0.2):
        player.seek(t, 0.0)
        player.frame()
        json.dumps([player.ledger(), player.timing], allow_nan=False)
        player.range(list(player.names)[:50], 0.0, t, 20)


@pytest.mark.parametrize("name", registry.names("systems"))
def test_any_numbers_in_the_rows_give_metrics_or_a_sentence(name, tmp_path):
    system, values, _ = job.find(name, None, ["loop.duration=0.2 s"])
    rows = job.simulate(system, values).rows
    for seed in range(4):
        path = tmp_path / f"wild-{seed}.mcap"
        chunks = recording.Chunks(path, recording.origin_of(system, values))
        chunks.write(spoiled(rows, seed))
        chunks.finish()
        with np.errstate(all="ignore"):  # from a thread of the server, where no one sees the warning
            look_at(path)
        for command in (("show", "--json"), ("show",), ("replay",))[:: 1 if seed == 0 else 2]:
            done = here(tmp_path, *command, path.name)
            assert done.returncode in (0, 1, 2), (seed, command, done.stderr)
            assert done.returncode != 2 or one_sentence(done.stderr), (seed, command, done.stderr)


def mutated(data, seed):
    """A recording with changed bytes, lengths and sections."""
    rng = np.random.default_rng(seed)
    changed = bytearray(data)
    for _ in range(rng.integers(1, 8)):
        where = int(rng.integers(len(changed)))
        kind = rng.integers(5)
        if kind == 0:
            changed[where] ^= int(rng.integers(1, 256))
        elif kind == 1:
            changed[where : where + 8] = int(rng.choice([0, 2**31, 2**63, 2**64 - 1, 7], p=None) % 2**64).to_bytes(8, "little")
        elif kind == 2:
            del changed[where : where + int(rng.integers(1, 64))]
        elif kind == 3:
            changed[where:where] = changed[: int(rng.integers(1, 512))]
        else:
            changed[where : where + 16] = rng.bytes(16)
    return bytes(changed)


def test_a_recording_with_any_damage_opens_or_is_a_sentence(run, data, tmp_path):
    whole = run.rows.tobytes()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here on
    before = highest()
    for seed in range(RUNS):
        path = tmp_path / "damaged.mcap"
        path.write_bytes(mutated(data, seed))
        listed = Library(tmp_path).list()
        assert len(listed) <= 1
        json.dumps(listed, allow_nan=False)
        try:
            found = recording.load(path)
            job.scenario_of(found)
        except InputError as error:
            assert len(str(error)) < 1200
            continue
        assert whole.startswith(found.rows.tobytes())
    assert highest() - before < GIGABYTE


@settings(max_examples=200)
@given(
    fields=st.recursive(
        st.none() | st.integers() | st.text() | st.sampled_from(["<f8", "<i8", "t"]), lambda x: st.lists(x, max_size=4)
    )
)
def test_any_description_of_rows_is_a_type_or_a_sentence(fields):
    from hilt.live.ring import type_from

    try:
        assert type_from(fields).itemsize <= 1 << 20
    except InputError as error:
        assert len(str(error)) < 400


def test_descriptions_of_all_systems_come_back():
    from hilt.live.ring import describe, type_from

    for name, other in itertools.product(registry.names("systems"), repeat=2):
        same = type_from(json.loads(json.dumps(describe(registry.system(name).row)))) == registry.system(other).row
        assert same == (name == other)
