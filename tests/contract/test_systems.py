"""What every system guarantees, in every scenario it ships."""

import dataclasses
import json
import math
import os
import typing

import numpy as np
import pytest

from hilt import job, loop
from hilt.core import faults, ledger, registry
from hilt.core.clock import FreeClock
from hilt.core.rig import ReplayRig, SimulatedRig
from hilt.core.signals import whole
from hilt.core.stage import EMPTY, Cycle, nothing
from hilt.core.system import Restarts
from hilt.record import recording
from tests.spoiling import Poison, spoil

# [s], the longest run tick by tick from Python and recorded; compiled runs are complete.
LONGEST = math.inf if os.environ.get("HILT_STAGES") == "all" else 6.0
CASES = [(name, each) for name, system in registry.systems().items() for each in system.scenario_files]


@pytest.fixture(scope="module", params=CASES, ids="-".join)
def found(request):
    """System, scenario and name; pytest does all tests of one scenario before the next, so that it is run only once."""
    return job.find(*request.param, [])


@pytest.fixture(scope="module")
def result(found):
    return job.simulate(*found)


@pytest.fixture(scope="module")
def recorded(found, tmp_path_factory):
    system, values, name = found
    shorter = values.loop.model_copy(update={"duration": min(values.loop.duration, LONGEST)})
    return job.run(system, values.model_copy(update={"loop": shorter}), name, tmp_path_factory.mktemp("runs"))


def test_two_runs_one_in_the_loop_and_one_in_the_compiled_batch_give_equal_bytes(result, recorded):
    assert len(recorded.rows) == min(len(result.rows), math.floor(LONGEST / result.scenario.loop.period + 1.5))
    assert recorded.rows.tobytes() == result.rows[: len(recorded.rows)].tobytes()


def test_the_start_is_restored_in_the_same_memory_whatever_was_run_in_it(found):
    system, values, _ = found
    starts, rows = Restarts(system, values), np.zeros((2, 50), system.row)
    for log in rows:
        bench = starts.begin()
        bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)
    assert rows[0].tobytes() == rows[1].tobytes()


def test_another_seed_does_not_break_it(found):
    system, values, name = found
    assert job.simulate(system, values.model_copy(update={"seed": 4711}), name).fault is None


def test_a_replay_is_identical_to_the_last_byte(recorded):
    loaded = recording.load(recorded.recording)
    assert loaded.rows.tobytes() == recorded.rows.tobytes()
    assert job.replay(loaded) is None


def test_the_ledger_closes_in_every_row(result):
    """The rows of the ledger are summed by their own expressions; ½ m v² + ½ ω·L is computed from the state alone."""
    system, rows = result.system, result.rows
    net = sum(rows[port]["into"] - rows[port]["out"] for port in system.ledger_ports)
    exchanged = sum(rows[port]["into"][-1] + rows[port]["out"][-1] for port in system.ledger_ports)
    stored = system.stored_energy(rows)
    assert np.abs(net - (stored - stored[0])).max() <= 1e-9 * exchanged
    table = ledger.table(rows, system.ledger_ports, system.stored_energy)
    assert abs(table["residual_J"]) <= 1e-9 * table["exchanged_J"]


def test_the_tick_never_sees_the_truth(result):
    """What no stage of the tick reads, and every parameter of the plant, is overwritten during the tick: it computes the same
    bytes."""
    system, rows = result.system, result.rows[:300]
    bench = system.set_up(result.scenario)
    rig = ReplayRig(system, iter([rows]))
    used = [block.kind for block in system.tick if block.when(result.scenario.believed)]
    read = {signal for kind in used for signal in kind.reads}
    written = {whole(name) for kind in used for name in kind.writes}
    hidden = system.inputs - read
    assert hidden, "a simulated world that hides nothing"
    for block in system.used_by(result.scenario).plant:
        spoil(bench.p[block.name])
    for k in range(len(rows)):
        rig.read(bench.row)
        for signal in ("tick", "t"):
            bench.row[signal] = rows[signal][k]
        for signal in hidden:
            spoil(bench.row[signal])
        bench.code.tick(bench.row, bench.x, bench.p)
        for signal in written:
            assert bench.row[signal].tobytes() == rows[signal][k].tobytes(), (k, signal)


# What a rig can measure. Everything else that a plant writes exists only in simulation.
MEASURED = {
    *("X_WB_meas", "V_WB_meas", "F_So_S"),  # encoders of the robot, force/torque sensor
    *("joystick", "x_m", "v_m", "f_m"),  # operator, and the master device with its drives
    *("x_s", "q_s", "v_s", "w_s", "q_arm", "f_sm"),  # encoders and drives of the slave arms
    *("f_s", "tau_s", "f_hands", "F_Qo_Q"),  # their wrist sensors
    "grip_open",  # the hand's own encoder
}


@pytest.mark.parametrize("name", registry.names("systems"))
def test_the_tick_reads_only_what_a_rig_can_measure(name):
    system = registry.system(name)
    read = {signal for block in system.tick for signal in block.kind.reads}
    assert system.inputs & read <= MEASURED


def test_the_tick_is_packed_without_a_look_at_the_world(found):
    """Every section is poisoned but all beliefs are set: the tick, and what observes a lab, get the same parameters."""
    system, values, _ = found
    common = {"system", "summary", "seed", "loop", "belief"}
    sections = {name: getattr(values, name) for name in type(values).model_fields if name not in common}
    blind = values.model_copy(update={**dict.fromkeys(sections, Poison()), "belief": sections})
    bench, blind_bench = system.set_up(values), dataclasses.replace(system, plant=()).set_up(blind)
    packed = [name for name in blind_bench.p.dtype.names if blind_bench.p[name].nbytes]
    assert {"dt", "guard"} < set(packed)
    for name in packed:
        assert blind_bench.p[name].tobytes() == bench.p[name].tobytes(), name


def test_every_stage_gets_its_own_section(found):
    """The table gives each stage what its `pack` declares by its types; every stage with parameters declares something."""
    system, values, _ = found
    for block in system.blocks:
        if block.section is nothing:
            assert block.kind.params == EMPTY, f"{block.name} has parameters and no section"
        else:
            _, config, loop, returned = typing.get_type_hints(block.kind.pack).values()
            assert (loop, returned) == (Cycle, type(None)), block.name
            assert config is not typing.Any
            assert isinstance(block.section(values), config) or not block.when(values), block.name


def test_what_can_be_believed_is_a_section_of_the_scenario(found):
    _, values, _ = found
    assert set(values.WORLD) <= set(type(values).model_fields)


def test_metrics_have_words_and_fit_into_json(result):
    assert set(result.metrics) <= set(result.system.metric_words)
    found = set(json.loads(json.dumps(result.as_json())))
    assert found == {"system", "scenario", "verdict", "metrics", "reasons", "ledger", "delays", "fault", "recording"}


def test_a_run_is_judged(result):
    """By its metrics or a share of its ledger; a goal has a default."""
    judged = result.verdict
    assert judged.kind in ("met", "missed", "diverged")
    assert {figure.metric for figure in judged.figures} <= {*result.metrics, "energy"}
    assert all(
        figure.met == (figure.value <= figure.goal) or figure.metric in ("hooked", "stopped") for figure in judged.figures
    )
    assert judged.sentence.endswith(".")


def test_a_run_that_ends_at_once_still_has_a_result(found):
    """The shortest possible run: metrics, ledger and JSON do not need a second row."""
    system, values, name = found
    short = values.model_copy(update={"loop": values.loop.model_copy(update={"duration": 1e-9})})
    ended = job.simulate(system, short, name)
    assert len(ended.rows) == 1
    found = json.loads(json.dumps(ended.as_json()))
    empty = {key for key, value in found["metrics"].items() if value is None or (isinstance(value, list) and None in value)}
    assert empty == set(found["reasons"])


@pytest.mark.parametrize("rig_name", registry.names("rigs"))
def test_a_rig_can_be_stopped_twice(rig_name):
    system, values, _ = job.find("freefloat", "paper", [])
    bench = system.set_up(values)
    rig = registry.rig(rig_name)(system, bench)
    rig.stop()
    rig.stop()
    assert rig.read(bench.row) == 0


class Counter:
    def __init__(self):
        self.rows = 0

    def append(self, row):
        self.rows += 1


def test_a_tick_with_a_fault_sends_no_set_point():
    """The robot is stopped before the row is kept, and gets nothing after the fault."""
    system, values, _ = job.find("freefloat", "paper", ["limits.speed=0.5 m/s"])
    bench = system.set_up(values)
    calls = []

    class Watched(SimulatedRig):
        def write(self, row):
            calls.append("write")
            return 0

        def stop(self):
            calls.append("stop")

    sink = Counter()
    fault = loop.run(bench, Watched(system, bench), FreeClock(), sink)
    assert fault.name == "speed"
    assert calls.count("write") == sink.rows - 1
    assert calls[sink.rows - 1 :] == ["stop", "stop"]


@pytest.mark.parametrize("call", ["read", "write"])
def test_a_run_that_a_device_has_ended_is_replayed_to_the_byte(tmp_path, call):
    """No tick can compute such a fault, so the replay sets it again, before or after the tick."""

    class Broken(SimulatedRig):
        def read(self, row):
            return super().read(row) or (faults.DEVICE if call == "read" and row["tick"][0] == 20 else faults.NONE)

        def write(self, row):
            return super().write(row) or (faults.DEVICE if call == "write" and row["tick"][0] == 20 else faults.NONE)

    result = job.run(*job.find("freefloat", "paper", []), tmp_path, make_rig=Broken)
    assert (result.fault.name, result.fault.tick) == ("device", 20)
    assert job.replay(recording.load(result.recording)) is None


def test_an_exception_in_a_rig_stops_the_robot():
    system, values, _ = job.find("freefloat", "paper", [])
    bench = system.set_up(values)
    stopped = []

    class Raising(SimulatedRig):
        def read(self, row):
            raise RuntimeError("cable cut")

        def stop(self):
            stopped.append(True)

    with pytest.raises(RuntimeError, match="cable cut"):
        loop.run(bench, Raising(system, bench), FreeClock(), Counter())
    assert stopped


def test_what_was_sent_is_the_command_until_a_fault(result):
    """In simulation nothing is between the two; a tick with a fault sends nothing."""
    rows = result.rows[result.rows["fault"] == 0]
    assert rows["X_WB_sent"].tobytes() == rows["X_WB_cmd"].tobytes()


def test_a_tick_with_a_fault_keeps_what_was_sent_last():
    rows = job.simulate(*job.find("freefloat", "paper", ["limits.speed=0.5 m/s"])).rows
    assert rows["fault"][-1]
    assert rows["X_WB_sent"][-1] == rows["X_WB_sent"][-2] == rows["X_WB_cmd"][-2]
    assert rows["X_WB_cmd"][-1] != rows["X_WB_cmd"][-2]
