"""URDF files are untrusted: whatever is wrong with one is a sentence, and nothing in it is large, slow or run."""

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hilt.core.faults import InputError
from hilt.core.signals import POSE
from hilt.device import rigfile
from hilt.device.joints import urdf
from hilt.device.joints.settings import SHIPPED
from hilt.maths import so3
from tests.device.jointed import ARMS, space
from tests.peers import python_with

UR5E = (SHIPPED / "ur5e.urdf").read_text()
ELBOW = '<limit lower="-6.283185307179586" upper="6.283185307179586" velocity="3.141592653589793" effort="150"/>'


def read(text, base="base", tip="tool0"):
    return urdf.parse(text.encode(), Path("mine.urdf"), base, tip)


def changed(old, new, count=1):
    assert old in UR5E
    return UR5E.replace(old, new, count)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not XML: no element found"),
        ("<robot><link name='base'/>", "is not XML"),
        ("<sdf/>", "begins with <sdf>, not with <robot>; give a URDF file; expand xacro first"),
        ("<!DOCTYPE a [<!ENTITY b 'c'>]><robot>&b;</robot>", "declares a document type"),
        (changed('child link="wrist_2"', 'child link="other"'), "does not join 'tool0' to 'base'; choose another base or tip"),
        (changed('parent link="shoulder"', 'parent link="forearm"'), "does not join 'tool0' to 'base'"),
        (changed('child link="wrist_2"', 'child link="wrist_3"'), "has two joints that carry 'wrist_3'; remove one"),
        (changed('name="elbow" type="revolute"', 'name="elbow" type="floating"'), "'elbow' in the chain that is floating"),
        (changed('name="elbow" type="revolute"', 'name="elbow" type="prismatic"'), "'elbow' in the chain that is prismatic"),
        (changed('name="elbow" type="revolute"', 'name="elbow"'), "'elbow' in the chain that is without a type"),
        (changed('name="elbow" type="revolute"', 'name="elbow" type="fixed"'), "has 5 joints from base to tool0; hilt needs 6"),
        (
            changed('<child link="forearm"/>', '<child link="forearm"/><mimic joint="wrist_1"/>'),
            "lets joint 'elbow' mimic another",
        ),
        (changed('<axis xyz="0 0 1"/>', '<axis xyz="0 0 0"/>'), "gives joint 'shoulder_pan' an axis of length 0"),
        (changed(ELBOW, '<limit lower="0" upper="0" velocity="3"/>'), "allows joint 'shoulder_pan' angles from 0 to 0 rad"),
        (changed(ELBOW, '<limit lower="1" upper="-1" velocity="3"/>'), "angles from 1 to -1 rad; give its limits"),
        (changed(ELBOW, '<limit lower="-inf" upper="1" velocity="3"/>'), "angles from -inf to 1 rad"),
        (changed(ELBOW, ""), "angles from nan to nan rad"),
        (changed(ELBOW, '<limit lower="-1" upper="1" velocity="0"/>'), "a speed limit of 0 rad/s; give one above 0"),
        (changed(ELBOW, '<limit lower="-1" upper="1"/>'), "a speed limit of nan rad/s"),
        (changed("0 0 0.1625", "0 0 nan"), "says xyz = '0 0 nan' for joint 'shoulder_lift'; give three numbers"),
        (changed("0 0 0.1625", "0 0"), "says xyz = '0 0' for joint 'shoulder_lift'"),
        (changed("0 0 0.1625", "0 0 1e9"), "says xyz = '0 0 1e9'"),
    ],
)
def test_a_bad_file_is_one_sentence(text, sentence):
    with pytest.raises(InputError) as error:
        read(text)
    assert sentence in str(error.value)
    assert "\n" not in str(error.value)
    assert error.value.key == "joints.urdf"


@pytest.mark.parametrize(("base", "tip", "key"), [("world", "tool0", "joints.base"), ("base", "hand", "joints.tip")])
def test_a_link_that_is_not_there_is_named_with_those_that_are(base, tip, key):
    with pytest.raises(InputError, match=r"has no such link; its links are base, shoulder, .*; choose one") as error:
        read(UR5E, base, tip)
    assert error.value.key == key


def test_what_is_not_between_base_and_tip_does_not_matter():
    """Grippers that mimic, meshes that are not there, masses of 0: none of it is read."""
    more = (
        '<link name="finger"><visual><geometry><mesh filename="package://none/none.stl"/></geometry></visual></link>'
        '<joint name="grip" type="prismatic"><parent link="tool0"/><child link="finger"/><mimic joint="elbow"/></joint>'
        '<gazebo><plugin name="x" filename="x.so"/></gazebo></robot>'
    )
    assert read(UR5E.replace("</robot>", more)) == read(UR5E)


def test_a_base_may_be_a_frame_beside_the_arm():
    """As in the URDFs of ROS, where `base` hangs on `base_link`: turned by 180° about z and 0.1 m above it."""
    frame = (
        '<link name="root"/><link name="beside"/>'
        '<joint name="a" type="fixed"><parent link="root"/><child link="base"/><origin xyz="0 0 0.3" rpy="0 0 0"/></joint>'
        '<joint name="b" type="fixed"><parent link="root"/><child link="beside"/>'
        '<origin xyz="0 0 0.4" rpy="0 0 3.141592653589793"/></joint></robot>'
    )
    plain, beside = read(UR5E), read(UR5E.replace("</robot>", frame), "beside")
    assert beside.origin[0] == pytest.approx((0.0, 0.0, -0.1), abs=1e-15)
    for name in ("axis", "origin"):
        for ours, theirs in zip(getattr(plain, name)[1:], getattr(beside, name)[1:], strict=True):
            assert theirs == pytest.approx((-ours[0], -ours[1], ours[2]), abs=1e-15)
    assert abs(np.dot(beside.tip_q, so3.multiply((0.0, 0.0, 0.0, 1.0), plain.tip_q))) == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(InputError, match="does not join 'beside' to 'tool0'"):
        read(UR5E.replace("</robot>", frame), "tool0", "beside")


PINOCCHIO = """
import json, sys
import numpy as np, pinocchio
path, base, tip, postures = json.loads(sys.stdin.read())
model = pinocchio.buildModelFromUrdf(path)
data, found = model.createData(), []
for q in postures:
    pinocchio.framesForwardKinematics(model, data, np.array(q))
    X = data.oMf[model.getFrameId(base)].actInv(data.oMf[model.getFrameId(tip)])
    J = pinocchio.computeFrameJacobian(model, data, np.array(q), model.getFrameId(tip), pinocchio.LOCAL_WORLD_ALIGNED)
    found.append([X.translation.tolist(), X.rotation.tolist(), np.linalg.svd(J, compute_uv=False)[-1]])
print(json.dumps([found, model.lowerPositionLimit.tolist(), model.upperPositionLimit.tolist(), model.velocityLimit.tolist()]))
"""


@pytest.mark.parametrize("arm", ARMS)
def test_pinocchio_reads_the_same_arm(arm):
    """Pose and smallest singular value at random postures, and all limits; both sides round at 1e-16 a joint."""
    joints, X = space(arm), np.zeros(1, POSE)[0]
    settings = joints.settings
    rng = np.random.default_rng(4)
    postures = [rng.uniform(joints.lower, joints.upper).tolist() for _ in range(20)]
    asked = json.dumps([str(SHIPPED / settings.urdf), settings.base, settings.tip, postures])
    command = [python_with("pinocchio"), "-P", "-c", PINOCCHIO]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=120)
    assert answer.returncode == 0, answer.stderr
    found, lower, upper, speed = json.loads(answer.stdout)
    for q, (p, turned, sigma) in zip(postures, found, strict=True):
        joints.pose(np.array(q), X)
        assert X["p"] == pytest.approx(p, abs=1e-13)
        axes = np.array([so3.rotate(tuple(X["q"]), axis) for axis in np.eye(3)]).T
        assert axes == pytest.approx(np.array(turned), abs=1e-13)
        # The root of an eigenvalue: 1e-15 of the largest becomes 3e-8 only where it is 0.
        assert joints.singular_value(np.array(q)) == pytest.approx(sigma, abs=1e-9)
    assert (joints.arm.lower, joints.arm.upper, joints.arm.speed) == (tuple(lower), tuple(upper), tuple(speed))


def test_the_panda_has_the_lengths_of_franky_sims_fr3(tmp_path):
    """The FR3 has the Panda's lengths, and other limits; that file is the manufacturer's."""
    python = python_with("franky_sim.urdf")
    where = "import franky_sim, pathlib; print(pathlib.Path(franky_sim.__file__).parent / 'assets' / 'fr3.urdf')"
    path = Path(subprocess.run([python, "-P", "-c", where], capture_output=True, text=True, check=True).stdout.strip())
    theirs, ours = urdf.read(path, "fr3_link0", "fr3_link8"), urdf.read(SHIPPED / "panda.urdf", "link0", "link8")
    for name in ("axis", "origin", "tip_p", "tip_q"):
        assert np.array(getattr(theirs, name)) == pytest.approx(np.array(getattr(ours, name)), abs=1e-14)


def test_a_continuous_joint_has_no_limits_of_angles():
    found = read(changed('name="elbow" type="revolute"', 'name="elbow" type="continuous"'))
    assert found.upper[2] > 1e9
    assert found.speed[2] == pytest.approx(math.pi)


def test_a_large_file_is_not_read(tmp_path):
    (tmp_path / "large.urdf").write_bytes(b" " * (urdf.SIZE_MAX + 1))
    with pytest.raises(InputError, match="is larger than 1 MiB"):
        urdf.read(tmp_path / "large.urdf", "base", "tool0")
    with pytest.raises(InputError, match="cannot be read: No such file"):
        urdf.read(tmp_path / "none.urdf", "base", "tool0")
    with pytest.raises(InputError, match="has more than 1000 links or joints"):
        read("<robot>" + '<link name="base"/>' * 1001 + "</robot>")


@given(st.binary(max_size=300), st.integers(0, len(UR5E)), st.integers(0, 60))
def test_damaged_files_are_sentences_or_arms(noise, at, lost):
    data = UR5E.encode()
    try:
        found = urdf.parse(data[:at] + noise + data[at + lost :], Path("mine.urdf"), "base", "tool0")
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert found.joints == 6


def rig(tmp_path, text, arm=UR5E):
    (tmp_path / "arm.urdf").write_text(arm)
    (tmp_path / "rig.toml").write_text(text)
    return rigfile.load(tmp_path / "rig.toml")


SAID = (SHIPPED / "dry-lab-ur-joints.toml").read_text().replace('"ur5e.urdf"', '"arm.urdf"')


def test_the_file_lies_beside_the_rig_file_or_comes_with_hilt(tmp_path):
    beside = rig(tmp_path, SAID).robot_section.joints
    assert beside.urdf == str(tmp_path / "arm.urdf")
    shipped = rigfile.load(rigfile.find("dry-lab-ur-joints")).robot_section.joints
    assert shipped.kinematics() == beside.kinematics()


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"arm.urdf"', '"none.urdf"', "robot.joints.urdf is none.urdf, which cannot be read: No such file"),
        ('tip = "tool0"', 'tip = "tip"', "robot.joints.tip is 'tip', but arm.urdf has no such link"),
        ('"3.13 rad", ', "", "robot.joints.posture has 5 angles, but robots of this driver have 6 joints"),
        (
            '"3.13 rad"',
            '"8 rad"',
            "robot.joints.posture is 8 rad for shoulder_pan, which may turn from -6.18319 to 6.18319 rad",
        ),
        ('command = "joints"', 'command = "pose"', "robot.joints is given, but command is 'pose'"),
        ('acceleration = "80 rad/s^2"', "", "robot.joints.acceleration"),
        ('margin = "0.1 rad"', 'margin = "7 rad"', "robot.joints.posture is 3.13 rad"),
    ],
)
def test_a_rig_file_that_does_not_fit_its_arm_is_one_sentence(tmp_path, old, new, sentence):
    assert old in SAID
    with pytest.raises(InputError) as error:
        rig(tmp_path, SAID.replace(old, new, 1))
    assert sentence in str(error.value)


def test_a_posture_has_as_many_angles_as_the_arm_has_joints():
    settings = space("panda").settings
    with pytest.raises(InputError, match=r"joints.posture has 6 angles, but panda.urdf has 7 joints from link0 to link8"):
        settings.model_copy(update={"posture": settings.posture[:6]}).kinematics()


def test_joints_without_an_arm_are_refused(tmp_path):
    head, _, tail = SAID.partition("[robot.joints]")
    with pytest.raises(InputError, match=r"command is 'joints', but the table joints is missing; add \[robot.joints\]"):
        rig(tmp_path, head + tail[tail.index("[sensor]") :])
