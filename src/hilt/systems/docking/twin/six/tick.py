"""The twin's part of docking's tick in six degrees of freedom, in the order of its steps."""

from hilt.compiled import jit_apart
from hilt.systems.docking.twin.balance import balance_step
from hilt.systems.docking.twin.bias import bias_step
from hilt.systems.docking.twin.contact import contact_step
from hilt.systems.docking.twin.robot import robot_step
from hilt.systems.docking.twin.six.body import SIX_BODY, body_step
from hilt.systems.docking.twin.six.clock import SIX_CLOCK, clock_step
from hilt.systems.docking.twin.six.command import SIX_COMMAND, command_step
from hilt.systems.docking.twin.six.sense import SIX_SENSE, sense_step
from hilt.systems.docking.two_bodies import relative_motion, two_bodies_step

# After those of one degree of freedom, of which bias, contact, balance and robot are used here too.
SIX_STAGES = {"six_sense": SIX_SENSE, "six_clock": SIX_CLOCK, "six_body": SIX_BODY, "six_command": SIX_COMMAND}


@jit_apart
def twin_six_tick(sig, x, p):
    """From the measured force to the set-point."""
    relative_motion(sig, x.bodies, p.bodies)  # the set-point of the last tick was the command; back to the bodies
    bias_step(sig, x.twin_bias, p.twin_bias, p.dt)
    sense_step(sig, x.six_sense, p.six_sense, p.dt)  # 1, 3, 9
    robot_step(sig, x.twin_robot, p.twin_robot, p.dt)  # 10
    contact_step(sig, x.twin_contact, p.twin_contact, p.dt)
    balance_step(sig, x.twin_balance, p.twin_balance, p.dt)
    clock_step(sig, x.six_clock, p.six_clock, p.dt)  # 7, 8
    body_step(sig, x.six_body, p.six_body, p.dt)  # 2, 4, 5, 10
    two_bodies_step(sig, x.bodies, p.bodies, sig.clock_rate * p.dt)
    command_step(sig, x.six_command, p.six_command, p.dt)  # 6
