"""What cannot be simulated, or what a method cannot treat, is refused in one sentence that names the key."""

import pytest

from hilt import job
from hilt.core.faults import InputError
from tests.systems.docking.benches import BENDS

SECOND, SERVOED = "robot.second_mode_frequency", ("robot.kind=second-order", "robot.delay=12 ms", "robot.damping_ratio=0.7")
SLOW_CONTROL = "robot.interpolation is 0.2 s; at loop.period = 0.001 s it must be 0.001 to 0.127 s"
REFUSED = {
    # A robot that bends
    ("robot.mode_frequency=12 Hz",): "robot.stiffness is 0, which means rigid",
    (*BENDS, "robot.mode_frequency=1 MHz"): "too fast to simulate with loop.period = 0.001 s; shorten",
    (*BENDS, "robot.backlash=50 um", "robot.mode_frequency=0 Hz"): "robot.backlash is 5e-05 m, but the robot has no mode",
    (*BENDS, "robot.stiffness_slope=1", "robot.mode_frequency=0 Hz"): "the robot has no mode; give robot.stiffness and",
    (*BENDS, f"{SECOND}=11 Hz"): "must be 1.01 to 100 times robot.mode_frequency, which is 12 Hz",
    (*BENDS, f"{SECOND}=31 Hz", "robot.second_mode_share=0.3", "robot.second_mode_damping_ratio=0.0001"): (
        "two dampers allow .* choose a value in this range"
    ),
    (*BENDS, f"{SECOND}=1 kHz", "loop.period=4 ms"): "is 1000 Hz, .* too fast to simulate with loop.period",
    # A robot's controller
    (*SERVOED, "robot.order=3", "robot.kind=delay"): (
        "robot.order is 3, but robot.kind is delay, which has no natural frequency"
    ),
    (*SERVOED, "robot.interpolation=0.2 s"): SLOW_CONTROL,
    (*SERVOED, "robot.interpolation=0.1 ms"): "robot.interpolation is 0.0001 s; at loop.period",
    # A contact
    ("contact.kind=hunt-crossley", "contact.damping=5"): "contact.damping is 5 .* set contact.damping = 0",
    ("contact.dissipation=1",): "contact.dissipation is 1 .* contact.kind is linear",
    ("frames.cone=0.5",): "frames.cone is 0.5 rad but dof is 1",
    ("dof=6", "frames.cone=0.5", "compensate.method=twin"): "the twin treats each frame as a plane",
    # Two robots
    ("sensor.delay=15 ms", "target_robot.delay=12 ms", "robot.delay=20 ms"): "target_robot.delay",
    ("target_robot.delay=12 ms", "pair.share=1.5"): "pair.share",
    ("target_robot.delay=2000 ms",): "target_robot.delay",
}


@pytest.mark.parametrize("changes", REFUSED, ids="-".join)
def test_it_is_refused_in_one_sentence(changes):
    with pytest.raises(InputError, match=REFUSED[changes]):
        job.find("docking", "table1", changes)
