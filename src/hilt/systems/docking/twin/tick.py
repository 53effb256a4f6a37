"""The twin's part of docking's tick, in the order of its steps."""

from hilt.compiled import jit_apart
from hilt.systems.docking.twin.balance import TWIN_BALANCE, balance_step
from hilt.systems.docking.twin.bias import TWIN_BIAS, bias_step
from hilt.systems.docking.twin.body import TWIN_BODY, body_step
from hilt.systems.docking.twin.clock import TWIN_CLOCK, clock_step
from hilt.systems.docking.twin.command import TWIN_COMMAND, command_step
from hilt.systems.docking.twin.contact import TWIN_CONTACT, contact_step
from hilt.systems.docking.twin.robot import TWIN_ROBOT, robot_step
from hilt.systems.docking.twin.sense import TWIN_SENSE, sense_step
from hilt.systems.docking.two_bodies import two_bodies_step

# After the two bodies: what they start with is what the twin starts from.
TWIN_STAGES = {
    "twin_bias": TWIN_BIAS,
    "twin_sense": TWIN_SENSE,
    "twin_contact": TWIN_CONTACT,
    "twin_balance": TWIN_BALANCE,
    "twin_clock": TWIN_CLOCK,
    "twin_body": TWIN_BODY,
    "twin_command": TWIN_COMMAND,
    "twin_robot": TWIN_ROBOT,
}


@jit_apart
def twin_tick(sig, x, p):
    """From the measured force to the set-point; steps as numbered in the stages."""
    bias_step(sig, x.twin_bias, p.twin_bias, p.dt)
    sense_step(sig, x.twin_sense, p.twin_sense, p.dt)  # 1
    robot_step(sig, x.twin_robot, p.twin_robot, p.dt)  # 7
    contact_step(sig, x.twin_contact, p.twin_contact, p.dt)  # 2, 3
    balance_step(sig, x.twin_balance, p.twin_balance, p.dt)  # 5: exit
    clock_step(sig, x.twin_clock, p.twin_clock, p.dt)  # 6
    body_step(sig, x.twin_body, p.twin_body, p.dt)  # 4, 5
    two_bodies_step(sig, x.bodies, p.bodies, sig.clock_rate * p.dt)
    command_step(sig, x.twin_command, p.twin_command, p.dt)  # 8, 9, 10
