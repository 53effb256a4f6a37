"""The URScript that follows hilt's poses: as text for a run, and recognised again by the emulated controller."""

import re
from importlib import resources
from string import Template
from typing import NamedTuple

STAND, FOLLOW, END = 0, 1, 2  # orders to the script
STANDING, FOLLOWING, STOOD_STILL, TOO_FAR, NO_HANDSHAKE, ENDED = 1, 2, 3, 4, 5, 6  # its states
HANDSHAKE = 5.0  # [s] in which the run must write its number
POSE = 6
COUNTER, TOKEN, ORDER = 0, 1, 2  # integer registers, from the first one on


class Program(NamedTuple):
    """What a script is told about its run."""

    token: int  # number of the run
    register: int  # first of the registers, of either kind
    cycle: float
    lookahead: float
    gain: float
    watchdog: int  # cycles without a new pose before it stops the arm
    step_limit: float  # [m] in a cycle
    turn_limit: float  # [rad] in a cycle
    deceleration: float  # [rad/s²] of the joints, when it stops the arm

    @property
    def handshake(self) -> int:
        """Cycles."""
        return round(HANDSHAKE / self.cycle)


def _template() -> Template:
    return Template(resources.files(__package__).joinpath("follow.script").read_text(encoding="utf-8"))


def text_of(program: Program) -> str:
    registers = {f"float_{i}": program.register + i for i in range(POSE)} | {f"int_{i}": program.register + i for i in range(3)}
    return _template().substitute(program._asdict(), handshake=program.handshake, **registers)


def read(text: str) -> Program | None:
    """The program of a script, or None if it is another script than ours."""
    pieces, pattern, known = re.split(r"\$(\w+)", _template().template.strip()), "", set[str]()
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
        said = {name: float(value) for name, value in found.groupdict().items()}
        whole = {name: int(said[name]) for name in ("token", "watchdog")}
        rest = {name: said[name] for name in Program._fields if name not in (*whole, "register")}
        program = Program(register=int(said["int_0"]), **whole, **rest)  # type: ignore[arg-type]
        return program if text_of(program).strip() == text.strip() else None
    except (ValueError, OverflowError, ZeroDivisionError):
        return None
