"""The twin's stages are packed from beliefs alone, all from the same ones."""

import numpy as np
import pytest

from hilt import job
from hilt.core import stage, system
from hilt.core.stage import Block, StageKind
from hilt.systems.docking.docking import DOCKING, twin_beliefs

TWIN = ("compensate.method=twin", "compensate.mode=realtime")
OTHER_WORLD = (
    *("frames.gap=19 mm", "rod.tip=[0.1, 0, 0]", "contact.stiffness=99e3", "robot.delay=31 ms", "robot.stiffness=1e7"),
    *("robot.start_at_rest=true", "encoder.position_noise=5 um", "sensor.noise=2 N", "sensor.delay=3 ms"),
)


def scenario(name, *changes):
    return job.find("docking", name, [*TWIN, *changes])[1]


def packed(values):
    """Parameters of the twin's blocks."""
    p = DOCKING.set_up(values).p[0]
    return {name: p[name] for name in p.dtype.names if name.startswith("twin_")}


def test_every_direction_is_the_believed_normal():
    """With a wrong normal nothing in the controller uses the true one, not even the identification of the robot."""
    values = scenario("oblique", "prior.normal_error=0.05", "prior.normal_azimuth=1.0")
    believed = twin_beliefs(values).normal
    assert np.dot(believed, values.frames.n_W) == pytest.approx(np.cos(0.05), abs=1e-12)
    directions = [p.n_W for p in packed(values).values() if "n_W" in p.dtype.names]
    assert len(directions) == 3
    for n in directions:
        assert tuple(n) == believed


@pytest.mark.parametrize("name", ["table1", "oblique"])
def test_a_different_world_changes_nothing_that_is_packed(name):
    """The world has different frames, rod, contact, robot, encoder and sensor; the beliefs stay."""
    values = scenario(name, "sensor.noise=0.5 N")
    other = scenario(name, *OTHER_WORLD)
    belief = {section: getattr(values, section) for section in values.WORLD}
    believing = packed(other.model_copy(update={"belief": belief}))
    honest, astray = packed(values), packed(other)
    for block, p in honest.items():
        assert believing[block].tobytes() == p.tobytes(), block
        assert astray[block].tobytes() != p.tobytes(), f"{block} does not depend on any of it: the test could not fail"


def test_beliefs_that_blocks_share_are_made_once():
    """They take long to compute."""
    asked = []
    kind = StageKind("shared", lambda *_: None, reads=(), writes=(), pack=lambda p, config, loop: asked.append(config))

    def section(_):
        asked.append("made")
        return "beliefs"

    blocks = tuple(Block(name, kind, section) for name in ("one", "two", "three"))
    params = np.zeros(1, np.dtype([(block.name, stage.EMPTY) for block in blocks]))
    system.pack(blocks, params, scenario("table1"))
    assert asked == ["made", "beliefs", "beliefs", "beliefs"]
