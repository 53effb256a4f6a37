"""The twin's part of the block diagram of docking, in one and six degrees of freedom, in the order of its steps."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hilt.compiled import jit
from hilt.core.stage import Block, Blocks, StageKind
from hilt.systems.docking.twin.balance import TWIN_BALANCE
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.bending.command import COMMAND_BENDING, COMMAND_PLANNED
from hilt.systems.docking.twin.bending.command_in_space import COMMAND_BENDING_IN_SPACE
from hilt.systems.docking.twin.bending.learn import TWIN_LEARN
from hilt.systems.docking.twin.body import BODY_IN_SPACE, BODY_LEARNT, BODY_LEARNT_IN_SPACE, BODY_ON_A_LINE
from hilt.systems.docking.twin.clock import CLOCK_BENDING_IN_SPACE, CLOCK_IN_SPACE, CLOCK_ON_A_LINE, Rehearsed
from hilt.systems.docking.twin.command import COMMAND_IN_SPACE, COMMAND_ON_A_LINE
from hilt.systems.docking.twin.contact import CONTACT_LEARNT, TWIN_CONTACT
from hilt.systems.docking.twin.robot import TWIN_ROBOT
from hilt.systems.docking.twin.sense import SENSE_BENDING, SENSE_BENDING_IN_SPACE, SENSE_IN_SPACE, SENSE_ON_A_LINE
from hilt.systems.docking.two_bodies import TWO_BODIES, two_bodies_step


def uses_twin(scenario: Any) -> bool:
    return bool(scenario.compensate.method == "twin")


def _bends(scenario: Any) -> bool:
    """Whether the controller believes that the robot's tip swings on its own."""
    believed = scenario.believed
    return believed.prior.bending(believed) is not None


def _on_a_line(scenario: Any) -> bool:
    return uses_twin(scenario) and not scenario.rotates


def _in_space(scenario: Any) -> bool:
    return uses_twin(scenario) and bool(scenario.rotates)


def _bending(scenario: Any) -> bool:
    """Whether bending is modelled: in space only along a known normal; if that is learnt, the robot is a massless spring."""
    exact = not scenario.rotates or scenario.believed.prior.normal_doubt == 0.0
    return uses_twin(scenario) and _bends(scenario) and exact


def _stiff(scenario: Any) -> bool:
    return uses_twin(scenario) and not _bending(scenario)


def _stiff_on_a_line(scenario: Any) -> bool:
    return _on_a_line(scenario) and _stiff(scenario)


def _bending_on_a_line(scenario: Any) -> bool:
    return _on_a_line(scenario) and _bending(scenario)


def _stiff_in_space(scenario: Any) -> bool:
    return _in_space(scenario) and _stiff(scenario)


def _bending_in_space(scenario: Any) -> bool:
    return _in_space(scenario) and _bending(scenario)


def _planned(scenario: Any) -> bool:
    """Whether a plan is used: in real time it brakes a stiff second-order robot as hard as the bound assumes. The governor
    computes faster but brakes less hard."""
    if not _stiff_on_a_line(scenario) or scenario.compensate.mode != "realtime":
        return False
    believed = scenario.believed
    return bool(believed.prior.robot(believed).T2 > 0.0 and believed.prior.give(believed) == 0.0)


def _governed(scenario: Any) -> bool:
    return _stiff_on_a_line(scenario) and not _planned(scenario)


@jit
def _slowed_step(sig, x, p, dt):
    """Move the bodies with the twin's clock."""
    two_bodies_step(sig, x, p, sig.clock_rate * dt)


SLOWED_BODIES = replace(TWO_BODIES, name="slowed-bodies", step=_slowed_step, reads=(*TWO_BODIES.reads, "clock_rate"))


def twin_blocks(beliefs: Callable[[Any], TwinBeliefs], rehearsed: Callable[[Any], Rehearsed | None]) -> Blocks:
    """The blocks after contact sensing; `beliefs` and `rehearsed` derive from a scenario what the blocks are packed from."""

    def block(name: str, kind: StageKind, when: Callable[[Any], bool] = uses_twin, starts_first: bool = False) -> Block:
        return Block(name, kind, beliefs, when, starts_first)

    return (
        block("twin_sense", SENSE_ON_A_LINE, _stiff_on_a_line),  # 1
        block("twin_sense", SENSE_IN_SPACE, _stiff_in_space),  # 1, 3: normals
        block("twin_robot", TWIN_ROBOT),  # 7
        block("twin_sense", SENSE_BENDING, _bending_on_a_line),  # 1
        block("twin_sense", SENSE_BENDING_IN_SPACE, _bending_in_space),  # 1
        block("twin_contact", TWIN_CONTACT, _stiff),  # 2, 3
        block("twin_contact", CONTACT_LEARNT, _bending),  # 2, 3
        block("twin_balance", TWIN_BALANCE, _stiff),  # 5: exit
        block("twin_balance", TWIN_LEARN, _bending),  # 5: exit
        Block("twin_clock", CLOCK_ON_A_LINE, beliefs, _on_a_line, late=rehearsed),  # 6
        Block("twin_clock", CLOCK_IN_SPACE, beliefs, _stiff_in_space, late=rehearsed),  # 6
        Block("twin_clock", CLOCK_BENDING_IN_SPACE, beliefs, _bending_in_space, late=rehearsed),  # 6
        block("twin_body", BODY_ON_A_LINE, _stiff_on_a_line),  # 4, 5
        block("twin_body", BODY_LEARNT, _bending_on_a_line),  # 4, 5
        block("twin_body", BODY_IN_SPACE, _stiff_in_space),  # 4, 5
        block("twin_body", BODY_LEARNT_IN_SPACE, _bending_in_space),  # 4, 5
        Block("bodies", SLOWED_BODIES, lambda s: s.two_bodies, uses_twin, starts_first=True),
        block("twin_command", COMMAND_ON_A_LINE, _governed, starts_first=True),  # 8, 9, 10
        block("twin_command", COMMAND_PLANNED, _planned, starts_first=True),  # 8, 9, 10
        block("twin_command", COMMAND_BENDING, _bending_on_a_line, starts_first=True),  # 8, 9, 10
        block("twin_command", COMMAND_IN_SPACE, _stiff_in_space, starts_first=True),  # 8, 9, 10
        block("twin_command", COMMAND_BENDING_IN_SPACE, _bending_in_space, starts_first=True),  # 8, 9, 10
    )
