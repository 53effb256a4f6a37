"""The load on the sensor from static poses, and the gentle path between them."""

import math
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device import rigfile
from hilt.device.rigtext import set_table
from hilt.lab import calibrate, gentle
from hilt.lab.calibrate import SAMPLES, identify_tool
from hilt.maths.quintic import quintic_positions
from hilt.sense.tool_load import GRAVITY, TOOL_LOAD, pack_load, unload
from tests.lab.rigs import RIGS, emulated, shipped, soft

MASS, CENTRE = 2.0, np.array([0.01, -0.02, 0.12])
BIAS = np.array([3.0, -1.0, 8.0, 0.1, 0.2, -0.3])
NOISE, TORQUE_NOISE = 0.3, 0.015  # [N], [N·m]: 0.3 N at 50 mm
STILL = (0.0, 0.0, 0.0)


def random_attitudes(rng, count):
    return Rotation.random(count, random_state=rng).as_quat()[:, [3, 0, 1, 2]]


def load(q):
    weight = MASS * Rotation.from_quat([*q[1:], q[0]]).as_matrix().T @ np.array(GRAVITY)
    return BIAS + np.concatenate([weight, np.cross(CENTRE, weight)])


def measure(rng, poses, samples, torque_noise=TORQUE_NOISE):
    """Mean of `samples` readings in each pose."""
    deviation = np.array([NOISE] * 3 + [torque_noise] * 3) / math.sqrt(samples)
    return np.array([load(q) + deviation * rng.normal(size=6) for q in poses])


def residual_weight(tool, q):
    """The part of the load that the sensor would still show."""
    p = np.zeros(1, TOOL_LOAD.params)[0]
    pack_load(p, tool.load())
    F = load(q)
    f, _ = unload(tuple(F[:3]), tuple(F[3:]), tuple(q), STILL, STILL, STILL, p)
    return math.hypot(*f)


@pytest.mark.parametrize("torque_noise", [TORQUE_NOISE, 0.1])
def test_a_tool_of_2_kg_in_12_random_poses(torque_noise):
    """1 % and 1 mm at 0.3 N noise with 250 samples averaged per pose, over 100 draws; less than 0.5 N is left in any pose."""
    rng = np.random.default_rng(5)
    for _ in range(100):
        poses = random_attitudes(rng, 12)
        tool = identify_tool(poses, measure(rng, poses, SAMPLES, torque_noise))
        assert abs(tool.mass - MASS) < 0.01 * MASS
        assert np.abs(np.array(tool.centre_of_mass) - CENTRE).max() < 1e-3
        assert max(residual_weight(tool, q) for q in random_attitudes(rng, 20)) < 0.5


def test_the_deviations_are_those_of_many_draws():
    """The formula of the module's text, the deviation of each fit, and the scatter of 400 fits agree."""
    rng = np.random.default_rng(6)
    tools = []
    for _ in range(400):
        poses = random_attitudes(rng, 12)
        tools.append(identify_tool(poses, measure(rng, poses, 1)))
    error_m = np.std([tool.mass for tool in tools])
    error_c = np.std([tool.centre_of_mass[0] for tool in tools])
    # 12 finite poses: the mean direction takes a twelfth of the spread; 400 draws know a deviation to 4 %
    assert error_m == pytest.approx(NOISE / math.sqrt(11) / 9.80665, rel=0.15)
    assert error_c == pytest.approx(TORQUE_NOISE / math.sqrt(11 * 2 / 3) / (MASS * 9.80665), rel=0.25)
    assert np.mean([tool.mass_deviation for tool in tools]) == pytest.approx(error_m, rel=0.15)
    assert np.mean([tool.centre_of_mass_deviation[0] for tool in tools]) == pytest.approx(error_c, rel=0.2)


@pytest.mark.parametrize(("tilt", "worse"), [(30, (2.7, 3.3, 2.9, 2.2)), (20, (4.0, 4.8, 4.3, 3.2))])
def test_how_much_less_tilts_tell(tilt, worse):
    """Scatter of 400 fits against the formulas for any attitude; so many know a deviation to 3.5 %, three of which are allowed.

    Of m c, which the torques give: in c itself there is also the scatter of m.
    """
    rng = np.random.default_rng(9)
    poses = np.array(calibrate.tilts(12, math.radians(tilt)))
    tools = [identify_tool(poses, measure(rng, poses, 100)) for _ in range(400)]
    mass = np.std([tool.mass for tool in tools]) / (0.1 * NOISE / math.sqrt(12) / 9.80665)
    moment = np.std([tool.mass * np.array(tool.centre_of_mass) for tool in tools], axis=0)
    assert (mass, *(moment / (0.1 * TORQUE_NOISE / math.sqrt(8) / 9.80665))) == pytest.approx(worse, rel=0.105)


@settings(max_examples=30)
@given(st.integers(0, 2**31))
def test_without_noise_the_load_comes_out_exactly(seed):
    rng = np.random.default_rng(seed)
    poses = random_attitudes(rng, 8)
    tool = identify_tool(poses, [load(q) for q in poses])
    assert tool.mass == pytest.approx(MASS, rel=1e-9)
    assert np.allclose(tool.centre_of_mass, CENTRE, atol=1e-9)
    assert np.allclose([*tool.force_bias, *tool.torque_bias], BIAS, atol=1e-8)
    assert tool.force_residual < 1e-9


def turns(*vectors):
    return Rotation.from_rotvec(np.array(vectors)).as_quat()[:, [3, 0, 1, 2]]


def test_poses_that_do_not_excite_are_refused_with_what_is_missing():
    rng = np.random.default_rng(7)
    alike = turns(*([0.0, 0.0, angle] for angle in np.linspace(0, 3, 12)))  # turned about gravity only
    with pytest.raises(InputError, match=r"in nearly the same attitude.*tilt the tool"):
        identify_tool(alike, measure(rng, alike, 100))
    swing = turns(*([angle, 0.0, 0.0] for angle in np.linspace(-0.15, 0.15, 12)))  # gravity moves along y of the sensor
    with pytest.raises(InputError, match=r"along only one direction.*0\.00, -?1\.00.*centre of mass along it"):
        identify_tool(swing, measure(rng, swing, 100))
    with pytest.raises(InputError, match="at least 4"):
        identify_tool(alike[:3], measure(rng, alike[:3], 100))
    good = random_attitudes(rng, 12)
    with pytest.raises(InputError, match="not a valid mass"):
        identify_tool(good, -measure(rng, good, 100))


LIMITS = shipped(
    "dry-lab", limits={"angular_speed": 2.0, "workspace_min": (-0.05, -0.05, -0.05), "workspace_max": (0.05, 0.05, 0.05)}
).limits


def test_the_path_keeps_half_the_limits_and_comes_back():
    offsets, rests = calibrate.path_of(calibrate.tilts(6, 0.5), 0.004, LIMITS, 100)
    q = Rotation.from_quat(offsets["q"][:, [1, 2, 3, 0]])
    rate = (q[1:] * q[:-1].inv()).as_rotvec() / 0.004
    assert np.linalg.norm(rate, axis=1).max() <= 0.5 * LIMITS.angular_speed
    assert np.linalg.norm(np.diff(rate, axis=0), axis=1).max() / 0.004 <= 1.01 * gentle.ANGULAR_ACCELERATION
    assert offsets["q"][-1] == pytest.approx([1, 0, 0, 0])
    for rest in rests:
        assert (offsets["q"][rest : rest + 100] == offsets["q"][rest]).all()


def test_a_path_beyond_the_limits_is_refused_before_anything_moves():
    start, path = np.zeros(1, POSE)[0], np.zeros(100, POSE)
    start["q"][0] = path["q"][:, 0] = 1.0
    path["p"][:, 1] = 0.06 * quintic_positions(np.arange(100) / 99)
    with pytest.raises(InputError, match=r"along y.*workspace"):
        gentle.check_path(path, start, 0.1, LIMITS)
    with pytest.raises(InputError, match="speed"):
        gentle.check_path(path, start, 0.004, LIMITS.model_copy(update={"workspace_max": (1.0, 1.0, 1.0)}))


def test_a_rig_file_keeps_its_comments_when_a_table_is_changed():
    text = '# mine\n[tool] # load\nmass = "1 kg" # old\ninertia = [1, 1, 1]\n\n[scenario]\n"loop.period" = "4 ms"\n'
    changed = set_table(text, "tool", {"mass": "2 kg", "centre_of_mass": ["0 mm", "1 mm", "2 mm"]}, "identified")
    again = set_table(changed, "scenario", {"robot.delay": "20 ms", "loop.period": "12 ms"})
    tree = tomllib.loads(again)
    assert tree["tool"] == {"mass": "2 kg", "inertia": [1, 1, 1], "centre_of_mass": ["0 mm", "1 mm", "2 mm"]}
    assert tree["scenario"] == {"loop.period": "12 ms", "robot.delay": "20 ms"}
    assert "# mine" in again
    assert set_table(again, "tool", {"mass": "2 kg"}, "identified").count("# identified") == 1
    assert tomllib.loads(set_table("", "tool", {"mass": 1.5})) == {"tool": {"mass": 1.5}}


@pytest.mark.parametrize("system", ["freefloat", None])
def test_the_attitude_of_the_sensor_may_stand_in_the_table_of_a_system(system):
    """A sensor that is turned by 90° about x: with the wrong attitude the weight would lie across."""
    turned = [math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0]
    rig = shipped("dry-lab").model_copy(update={"scenario": {"freefloat": {"sensor.attitude": turned}}})
    assert rig.setting("sensor.attitude", (1.0, 0.0, 0.0, 0.0), system) == turned
    both = rig.model_copy(update={"scenario": {**rig.scenario, "sensor.attitude": [1.0, 0.0, 0.0, 0.0]}})
    assert both.setting("sensor.attitude", None, "freefloat") == turned
    assert both.setting("sensor.attitude", None, "docking") == [1.0, 0.0, 0.0, 0.0]
    with pytest.raises(InputError, match=r"1.0, 0.0, 0.0, 0.0.* in \[scenario\] and .*choose the system"):
        both.setting("sensor.attitude", None)


def test_calibrate_uses_the_attitude_of_the_systems_table(monkeypatch):
    """Checks only which attitude the load is computed with, not what is sent and measured."""
    turned, used = [math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0], []
    monkeypatch.setattr(gentle, "drive", lambda *_: None)
    monkeypatch.setattr(calibrate, "means", lambda *given: used.append(given[-1]) or ([], []))
    with pytest.raises(InputError, match="at least 4"):
        calibrate.run(shipped("dry-lab", scenario={"freefloat": {"sensor.attitude": turned}}), 4)
    assert used == [turned]


@pytest.mark.virtual
@pytest.mark.parametrize("name", RIGS)
def test_the_tool_of_an_emulated_robot_is_found(name, tmp_path):
    """4 poses of 20° at most, 100 samples each: 6 g and 0.4 mm (1 σ) by the formulas, so 2 % and 3 mm never fail by chance."""
    rng, seen = np.random.default_rng(8), []
    deviation = np.array([NOISE] * 3 + [TORQUE_NOISE] * 3)

    def wrench(robot):
        F = load(robot.true_pose()["q"]) + deviation * rng.normal(size=6)
        return tuple(F[:3]), tuple(F[3:])

    with emulated(shipped(name, limits={"angular_speed": 1.0}), wrench) as (rig, robot, box):
        watch = lambda done, of: seen.append(done / of)  # noqa: E731
        tool = calibrate.run(rig, 4, tilt=math.radians(20), samples=100, settle=0.2, watch=watch)
    assert soft(robot)
    assert box.biases == 0
    assert tool.mass == pytest.approx(MASS, rel=0.02)
    assert np.abs(np.array(tool.centre_of_mass) - CENTRE).max() < 3e-3
    assert seen[-1] == 1.0

    target = tmp_path / "calibrated.toml"
    calibrate.write(tool, rigfile.find(name), target)
    written = rigfile.load(target).tool
    assert written.mass == pytest.approx(tool.mass, rel=1e-5)
    assert written.centre_of_mass == pytest.approx(tool.centre_of_mass, abs=1e-7)


@pytest.mark.virtual
@pytest.mark.parametrize("name", RIGS)
def test_a_load_beyond_its_limit_stops_the_robot_softly(name):
    file = shipped(name, limits={"force": 100.0}, sensor={"jump_force": 1000.0})
    with emulated(file, lambda robot: ((0.0, 0.0, -20.0), STILL)) as (rig, robot, box):

        def push(done, of):
            if done * rig.robot_section.cycle > 0.5:
                box.jump = (0.0, 0.0, -200.0, 0.0, 0.0, 0.0)

        with pytest.raises(gentle.Stopped, match=r"measured force 220 N is beyond its limit of 100 N"):
            calibrate.run(rig, 4, watch=push)
    assert soft(robot)
    angles = [2.0 * math.asin(math.hypot(*each.pose[4:])) for each in robot.diary]
    change = np.diff(angles, 2) / rig.robot_section.cycle**2
    assert change.min() == pytest.approx(-rig.lab.angular_deceleration, rel=0.01)
    assert change.max() < gentle.ANGULAR_ACCELERATION
