"""World and belief: the plant follows the scenario, the controller uses its beliefs."""

from pathlib import Path

import pytest

from hilt import job
from hilt.core import scenario
from hilt.core.faults import InputError
from hilt.device import rigfile
from hilt.live.session import Session
from hilt.record import recording

LATE = ("robot.lead=true", "robot.delay=20 ms")
FALSE = (*LATE, "belief.robot.delay=16 ms")


def wall(*settings):
    return job.find("freefloat", "wall", list(settings))


def test_by_default_the_controller_believes_the_truth():
    _, values, _ = wall()
    assert values.believed is values
    assert '"belief"' not in values.canonical(), "beliefs left out do not change the hash of a scenario"


def test_a_belief_reaches_the_tick_and_never_the_plant():
    """The lead, the only block of this tick that uses the robot's delay, uses the belief; the robot uses the world."""
    (system, true, _), (_, false, _) = wall(*LATE), wall(*FALSE)
    correct, wrong = system.set_up(true).p, system.set_up(false).p
    assert wrong["lead"]["tau"][0] == 0.016 == pytest.approx(correct["lead"]["tau"][0] - 0.004)
    assert [name for name in correct.dtype.names if correct[name].tobytes() != wrong[name].tobytes()] == ["lead"]


def test_a_belief_is_a_value_however_it_is_written():
    _, one, _ = wall(*LATE, "belief.robot.delay=16 ms")
    _, two, _ = wall(*LATE, "belief={robot = {delay = 0.016}}")
    assert one == two
    assert one.hash() == two.hash() != wall(*LATE)[1].hash()


def test_the_world_can_change_under_a_belief():
    """As in a sweep over the true delay."""
    _, values, _ = wall(*FALSE)
    slower = values.model_copy(update={"robot": values.robot.model_copy(update={"delay": 0.03, "lead": False})})
    assert slower.believed.robot == values.robot.model_copy(update={"delay": 0.016, "lead": False})


def test_one_entry_of_a_list_can_be_believed():
    _, values, _ = job.find("freefloat", "paper", ["belief.push.1.force=[1, '2 N', 0]"])
    assert values.believed.push == (values.push[0], values.push[1].model_copy(update={"force": (1.0, 2.0, 0.0)}))


def test_two_ways_to_assume_a_sensor_delay_give_the_same_run():
    runs = [
        job.simulate(*job.find("docking", "table1", [*settings, "collisions=1"]))
        for settings in (["compensate.sensor_delay=3 ms"], ["belief.sensor.delay=3 ms"], [])
    ]
    assert runs[0].rows.tobytes() == runs[1].rows.tobytes() != runs[2].rows.tobytes()


BAD = {
    "belief.robot.dely=3": "did you mean belief.robot.delay?",
    "belief.robo.delay=3": "belief.robo is not a key",
    "belief.robot.delay='3 kg'": "belief.robot.delay is '3 kg'; its unit does not fit",
    "belief.robot.delay=-1": "belief.robot.delay is -1.0 s; it must be at least 0 s",
    "belief.robot=3": "belief.robot is 3; it must be a table",
    "belief=3": "belief is 3; it must be a table with keys, such as belief.robot",
    "belief.limits.force=1e6": "belief.limits cannot differ",
    "belief.loop.period=1": "belief.loop cannot differ",
    "belief.goal.energy=1": "belief.goal cannot differ",
    "belief.belief.robot.delay=1": "belief.belief cannot differ",
    "belief.push.3.start=1": "belief.push.3 is not an entry",
    "belief.robot.kind=ideal": "in the controller's beliefs, robot.delay is",
}


@pytest.mark.parametrize(("setting", "words"), BAD.items())
def test_a_bad_belief_is_one_sentence(setting, words):
    with pytest.raises(InputError) as error:
        job.find("freefloat", "paper", ["robot.delay=20 ms", setting])
    assert words in str(error.value)
    assert "\n" not in str(error.value)


def test_a_recording_holds_the_belief(tmp_path):
    system, values, name = wall(*FALSE, "loop.duration=0.2 s")
    done = job.run(system, values, name, tmp_path)
    found = recording.load(done.recording)
    assert job.scenario_of(found) == (system, values)
    assert job.replay(found) is None


def test_a_scenario_from_before_beliefs_opens():
    system, values, _ = wall()
    old = values.model_dump(mode="json", exclude={"belief"})
    assert scenario.build(system.scenario, old) == values


def test_on_devices_the_scenario_is_the_belief(tmp_path):
    file = rigfile.load(Path(__file__).parents[2] / "rigs" / "dry-lab.toml")
    file = file.model_copy(update={"lab": file.lab.model_copy(update={"realtime": False})})  # the core may be in use
    settings = [*file.settings("freefloat"), *FALSE]
    session = Session(*job.find("freefloat", "wall", settings), tmp_path, file)
    try:
        assert session.values.belief == {}
        assert session.values.robot.delay == 0.016
    finally:
        session.close()
