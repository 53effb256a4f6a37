"""Whatever is wrong with a command is one sentence about it: exit code 2, no output, and nothing is written."""

import shlex

import pytest

from tests.e2e.command import here, hilt

UNTREATED = "docking --scenario table1 --set compensate.method=none --set 'robot.delay=1 ms'"
AXES = "--x 'robot.delay=0.5..4 ms:5 log' --y 'contact.stiffness=50..500 N/mm:4 log'"
MASS = "--y servicer.mass"
TUNE = "docking --scenario table1 --set collisions=1 --set 'sensor.noise=0.5 N'"
VARY = "--vary 'robot.delay=15..25 ms' --objective cof"
REFUSED = {
    "run freefloat": {
        "--set body.weight=3": "body.weight",
        "--scenario wall --set 'wall.gap=3 kg'": "wall.gap",
        "--set 'body.mass=-30 kg'": "greater than 0 kg",
        "--scenario tumble --set 'body.inertia=[1, 1, 3]'": "body.inertia",
        "--set body.mass=nan": "body.mass",
        "--scenario nothing": "nothing",
        "--clock sundial": "sundial",
        "--rig none": "none",
        "--out broken.toml/runs": "broken.toml",
        "--stream rviz": "--stream is 'rviz'; known are foxglove, ros2",
        "--live-in foxglove": "--live-in is 'foxglove'; known are ros2",
        "--live-in ros2 --live-force '20 kg'": "--live-force is '20 kg': its unit does not fit",
        "--live-in ros2 --live-torque '0 N*m'": "greater than 0",
        "--stream ros2 --seeds 5": "--seeds 5",
    },
    "run aerial": {
        "--set 'hardware_arm.start=[2, 0, 0.4]'": "choose a closer hardware_arm.start",
        "--set 'tool.position=[1, 0, -0.3]'": "move the tool closer to the base",
        "--set vehicle.mass=0": "vehicle.mass is 0.0 kg; it must be greater than 0 kg",
        "--set force_filter.bandwidth=700": "at most the Nyquist frequency of 628.319 rad/s",
        "--set 'link.delay=-1 ms'": "at least 0 s",
        "--set hand.stiffness=-1": "at least 0 N/m",
        "--set 'tank.start=1 J'": "between these bounds",
        "--set 'task.handover.contact=[3, 1]'": "swap them",
    },
    "run docking": {
        "--set 'frames.gap=4 mm'": "radius",
        "--set 'servicer.mass=0 kg'": "greater than 0 kg",
        "--set 'robot.delay=2 s'": "delay line holds at most",
        "--set compensate.method=magic": "'none', 'pic', 'dac', 'pida', 'pida-literal'",
        "--set 'sensor.delay=30 ms'": "raise robot.delay",
        "--set 'frames.normal=[1, 1, 0]'": "dof = 6",
        "--set dof=6 --set 'approach.direction=[0, 1, 0]'": "turn it towards",
        "--seeds 0": "from 1 to",
        "--seeds 3 --rig rigs/lab.toml": "--seeds",  # the rig would run once and ignore the seeds
        "--seeds 3 --clock periodic": "--seeds",
        "--seeds 3 --cockpit": "--seeds",
    },
    "run payload": {
        "--set 'link.delay=-1 s'": "at least 0 s",
        "--set link.loss=1.2": "at most 1",
        "--set virtual.mass_ratio=0": "greater than 0",
        "--set 'link.delay=1 min'": "the link holds at most",
        "--set 'operator.direction=[0, 0, 0]'": "give a non-zero vector",
        "--set link.outage_policy=pray": "'hold', 'soft-stop', 'freeze', 'brake'",
        "--set 'operator.shaper=-1 s'": "operator.shaper",
        "--set operator.kind=profile --set 'operator.profile=[[0, 0.01], [2, 0.02], [1, 0.01]]'": "each later than",
        "--set arm.model=rubber": "'point', 'jointed'",
        "--set link.duplication=1.5": "at most 1",
        "--set 'arm.jointed.posture=[0, 3, 0, 0, 0, 0, 0]'": "bend it less",
        "--scenario bilateral --set 'link.delay=8 s'": "shorten master.motor_lag",
    },
    "run": {"freeflot": "freeflot", "missing.toml": "missing.toml", "broken.toml": "broken.toml"},
    "compare docking": {"--over compensate.method=none": "at least two values"},
    "show": {"missing.mcap": "missing.mcap", "broken.mcap": "broken.mcap"},
    "replay": {"broken.mcap": "broken.mcap"},
    "reproduce": {"nobody1999": "nobody1999"},
    "bound": {
        "docking --scenario nowhere": "not a scenario of docking",
        "payload": "payload has no bound on its contact force; give one that has (docking)",
    },
    f"map {UNTREATED}": {
        f"--x robot.delya {MASS}": "did you mean robot.delay?",
        f"--x 'robot.delay=2..1 ms:4' {MASS}": "write the smaller end first",
        f"--x 'robot.delay=2..4 kg:4' {MASS}": "its unit does not fit",
        f"--x 'robot.delay=2 ms,4 ms' {MASS}": "is not a range",
        f"--x robot.delay= {MASS}": "is not KEY or KEY=RANGE",
        f"--x 'robot.delay=1..2 ms:100000' {MASS}": "a map needs 2 to 1000",
        "--x robot.delay --y robot.delay": "two different keys",
        "--x compensate.method --y robot.delay": "needs a key with a number",
        "--x contact.damping --y robot.delay": "which gives no range",
        f"--x 'robot.delay=-1..1 ms:3' {MASS}": "it must be at least 0 s",
        f"{AXES} --limit cow=1": "choose one of cov, cof,",
        f"{AXES} --limit time_slip_s=1": "choose one of cov_1",
        f"{AXES} --engine steam": "must be one of threads",
        f"{AXES} --seeds 0": "--seeds is 0",
    },
    f"margin {UNTREATED}": {
        "--key robot.dely": "did you mean robot.delay?",
        "--key encoder.position_noise": "which need a value above 0",
        "--key robot.delay --uncertain robot.delay": "is not KEY=SPEC",
        "--key robot.delay --uncertain 'robot.delay=1..2 ms:3'": "is not a distribution",
        "--key robot.delay --uncertain encoder.position_noise=5%": "is 0, so this is not a range",
        "--key robot.delay --metrics cow": "choose one of cov, cof,",
        "--key robot.delay --samples 3": "power of 2",
    },
    "margin": {"nothing": "nothing"},
    f"tune {TUNE}": {
        "--vary 'robot.delya=1..2 ms' --objective cof": "did you mean robot.delay?",
        "--vary 'robot.delay=2..1 ms' --objective cof": "write the smaller end first",
        "--vary 'robot.delay=1..2 ms' --objective cow": "choose one of cov, cof",
        f"{VARY} --trials 0": "--trials is 0",
        f"{VARY} --processes 1000": "--processes is 1000",
        f"{VARY} --unseen 0": "--unseen is 0",
        f"{VARY} --seeds 0": "--seeds is 0",
        f"{VARY} --storage nosuch://host": "the storage 'nosuch://host' cannot be used",
        f"{VARY} --out tuned.txt": "a scenario file must end in .toml",
        f"{VARY} --out no/such/tuned.toml": "whose folder does not exist",
        f"{VARY} --out broken.toml": "which exists",
    },
}
# All errors leave through the same place (main.main): these are tested in a process of their own.
WHOLE = ("run freefloat --set body.weight=3", "show broken.mcap", "reproduce nobody1999")


@pytest.mark.parametrize(
    ("command", "words"), [(f"{first} {rest}", words) for first, rests in REFUSED.items() for rest, words in rests.items()]
)
def test_it_is_refused_in_one_sentence_and_leaves_nothing(tmp_path, command, words):
    (tmp_path / "broken.toml").write_text("system = [")
    (tmp_path / "broken.mcap").write_bytes(b"\x89MCAP0\r\n" + bytes(50))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*")}
    done = (hilt if command in WHOLE else here)(tmp_path, *shlex.split(command))
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("hilt: ")
    assert done.stderr.count("\n") == 1
    assert words in done.stderr
    assert {path: path.read_bytes() for path in tmp_path.rglob("*")} == before
