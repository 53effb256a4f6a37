"""Method twin on robots that bend: the cost of each effect that the controller does not know, one at a time.

Guarded, n = 5, 0.5 N of noise; all other assumptions are wrong as in twin_bending. Four robots of its grid, at its corners and
in its middle. Energy is checked as for every other trouble, the speed of damped contacts against its own target.
"""

import math

from hilt.systems.docking.paper.twin_bending import bending, drawn, prior_errors
from hilt.systems.docking.paper.twin_troubles import Trouble

ROBOTS = [bending(20, 0.7, 0.5, 12), bending(10, 1.0, 1.0, 12), bending(30, 0.5, 2.0, 20), bending(0, 1.0, 0.3, 20)]
OTHERS, OTHER_SEEDS = drawn(2035, 12, 2.0), range(31, 33)  # fixed before the learning was made robust to a wrong model
CRITICAL = 2.0 * math.sqrt(176.275e3 * 300.0 * 4000.0 / 4300.0)  # N·s/m, of the contact of table1


def _stiff(seed: int) -> dict[str, float]:
    return {**prior_errors(seed), "compliance_error": -1.0}


def _effect(name: str, *settings: str, why: str = "", six: bool = False) -> Trouble:
    return Trouble(name, settings, six, prior_errors, why)


def _unmodelled(name: str, why: str, **keys: str) -> Trouble:
    """An effect of the robot that is absent from the controller's model."""
    believed = {"second_mode_frequency": "0 Hz", "backlash": "0 m", "stiffness_slope": "0", "gear_friction": "0 N"}
    belief = [f"belief.robot.{key}={believed[key]}" for key in keys if key in believed]
    return _effect(name, *(f"robot.{key}={value}" for key, value in keys.items()), *belief, why=why)


MODE = "plan and learning model only one mode"
PLAY = "within the play no spring model predicts the tip, and losses in the gears are taken for damping"
ALIKE = "in a contact, damping of the frame looks like damping of the robot"
EFFECTS = [
    _effect("bending known, within the errors of every run"),
    Trouble("bending unknown to the controller", errors=_stiff, why="the tip yields and swings"),
    _effect("modelled as a massless spring", "belief.robot.mode_frequency=0 Hz", why="the tip swings"),
    _unmodelled(
        "second mode at 45 Hz, a twentieth of the compliance", MODE, second_mode_frequency="45 Hz", second_mode_share="0.05"
    ),
    _unmodelled(
        "second mode at 45 Hz, a fifth of the compliance", MODE, second_mode_frequency="45 Hz", second_mode_share="0.2"
    ),
    _unmodelled("play of 10 µm", PLAY, backlash="10 um"),
    _unmodelled("play of 50 µm", PLAY, backlash="50 um"),
    _unmodelled("friction of 2 N in the gears", PLAY, gear_friction="2 N"),
    _unmodelled("friction of 5 N in the gears", PLAY, gear_friction="5 N"),
    _unmodelled("stiffness changes by 1 % per centimetre", "the two frames see different stiffnesses", stiffness_slope="1"),
    _unmodelled("stiffness changes by 10 % per centimetre", "the two frames see different stiffnesses", stiffness_slope="10"),
    _unmodelled("interpolation filter of 12 ms", "the robot lags 6 ms more than believed", interpolation="12 ms"),
    _unmodelled("response of order 4", "the robot has two more lags than believed", order="4"),
    _unmodelled("motors of 10 N/µm under load", "none: the encoders see it", motor_stiffness="10 N/um"),
    _effect("Hertz contact", "contact.kind=hertz", why="in one contact the two laws are nearly the same"),
    *(
        _effect(f"damped contact, ζ = {zeta:g}", f"contact.damping={zeta * CRITICAL:.2f} N*s/m", why=ALIKE)
        for zeta in (0.01, 0.025, 0.05)
    ),
    _effect("six degrees of freedom", six=True, why="where the effective mass is small, the contact is as fast as the mode"),
]
