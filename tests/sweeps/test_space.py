"""Values of keys: one definition for axes, maps, margins and tuning."""

import pytest

from hilt import job
from hilt.core.faults import InputError
from hilt.sweeps.space import given_value_of, value_of


@pytest.fixture
def base():
    return job.find("docking", "table1", ["robot.delay=12 ms"])[1]


def test_a_key_has_the_value_of_the_scenario_and_a_belief_that_of_the_world_unless_it_is_given(base):
    for of in (value_of, given_value_of):
        assert of(base, "robot.delay") == 0.012
        assert of(base, "belief.robot.delay") == 0.012
        assert of(base, "compensate.method") == base.compensate.method
    other = job.find("docking", "table1", ["robot.delay=12 ms", "belief.robot.delay=8 ms"])[1]
    assert given_value_of(other, "belief.robot.delay") == 0.008
    listed = job.find("freefloat", "wall", ["body.dof=3", "body.velocity=[0.001, 0.002, 0]"])[1]
    assert given_value_of(listed, "body.velocity.1") == 0.002


@pytest.mark.parametrize("key", ["robot.dely", "robot.delay.more", "body", "robot.model_dump", "", "contact.stiffness.0"])
def test_an_unknown_key_is_ignored_or_refused_where_the_user_named_it(base, key):
    assert value_of(base, key) is None
    with pytest.raises(InputError, match="is not a key of this scenario, or it has no value there; "):
        given_value_of(base, key)
