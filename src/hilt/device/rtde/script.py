"""The URScript that follows hilt's set-points: as text for a run, and parsed again by the emulated controller.

It is one script for poses and for joint angles; only WORDS differ. `off` is the difference from the last set-point: three
numbers within `step_limit`, three within `turn_limit`; metres and radians of the tool, or radians of the first and the last
three joints.
"""

import re
from importlib import resources
from string import Template
from typing import NamedTuple

STAND, FOLLOW, END = 0, 1, 2  # orders to the script
STANDING, FOLLOWING, STOOD_STILL, TOO_FAR, NO_HANDSHAKE, ENDED = 1, 2, 3, 4, 5, 6  # its states
HANDSHAKE = 5.0  # [s] in which the run must write its number
POSE = 6
COUNTER, TOKEN, ORDER = 0, 1, 2  # integer registers, counted from the first one


_OFF = ", ".join(f"target[{i}] - place[{i}]" for i in range(POSE))
WORDS = {
    "pose": {
        "meaning": "pose of the tool in the base, x y z rx ry rz",
        "target": "get_target_tcp_pose()",
        "kind": "p",
        "off": "pose_trans(pose_inv(place), target)",
        "angles": "get_inverse_kin(place)",
    },
    "joints": {
        "meaning": "angles of the joints",
        "target": "get_target_joint_positions()",
        "kind": "",
        "off": f"[{_OFF}]",
        "angles": "place",
    },
}


class Program(NamedTuple):
    """The parameters of a script for its run."""

    token: int  # number of the run
    register: int  # first of the registers, of either kind
    cycle: float
    lookahead: float
    gain: float
    watchdog: int  # cycles without a new pose before it stops the arm
    step_limit: float  # [m] per cycle, or [rad] of the first three joints
    turn_limit: float  # [rad] per cycle, of the tool or of the last three joints
    deceleration: float  # [rad/s²] of the joints, when it stops the arm
    command: str = "pose"  # or "joints"

    @property
    def handshake(self) -> int:
        """Cycles within which the run must write its number."""
        return round(HANDSHAKE / self.cycle)


def _template(command: str) -> Template:
    text = resources.files(__package__).joinpath("follow.script").read_text(encoding="utf-8")
    return Template(re.sub(r"@(\w+)", lambda found: WORDS[command][found[1]], text))


def text_of(program: Program) -> str:
    registers = {f"float_{i}": program.register + i for i in range(POSE)} | {f"int_{i}": program.register + i for i in range(3)}
    return _template(program.command).substitute(program._asdict(), handshake=program.handshake, **registers)


def read(text: str) -> Program | None:
    """Return the program of a script, or None if it is not our script."""
    return next((found for command in WORDS if (found := _read(text, command)) is not None), None)


def _read(text: str, command: str) -> Program | None:
    pieces, pattern, known = re.split(r"\$(\w+)", _template(command).template.strip()), "", set[str]()
    for number, piece in enumerate(pieces):
        if number % 2 == 0:
            pattern += re.escape(piece)
        else:
            pattern += f"(?P={piece})" if piece in known else rf"(?P<{piece}>[-+.e\d]+)"
            known.add(piece)
    found = re.fullmatch(pattern, text.strip())
    if found is None:
        return None
    try:
        values = {name: float(value) for name, value in found.groupdict().items()}
        whole = {name: int(values[name]) for name in ("token", "watchdog")}
        rest = {name: values[name] for name in Program._fields if name not in (*whole, "register", "command")}
        program = Program(register=int(values["int_0"]), command=command, **whole, **rest)  # type: ignore[arg-type]
        return program if text_of(program).strip() == text.strip() else None
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
