"""Contents of a mailbox: the layout of its memory, the kinds of requests, and the state at its front."""

from typing import NamedTuple

import numpy as np

MAGIC = 0x68696C746D61696C  # "hiltmail"
VERSION = 3
SUFFIX = ".mail"
LANES = 16
REQUESTS_A_LANE = 16
KEY_BYTES, TEXT_BYTES, WHO_BYTES = 64, 240, 64
NAME_BYTES, SENTENCE_BYTES, INFO_BYTES = 120, 480, 1 << 17

START, STOP, RESET, ARM, SET, STEER, HOME, QUIT = range(1, 9)
KINDS = {START: "start", STOP: "stop", RESET: "reset", ARM: "arm", SET: "set", STEER: "steer", HOME: "home", QUIT: "quit"}
OFF, READY, LIVE, STOPPED = range(4)
STATES = ("OFF", "READY", "LIVE", "STOPPED")

REQUEST = np.dtype(
    [
        *((name, "i8") for name in ("kind", "sent")),
        *((name, "f8") for name in ("value", "ramp")),
        ("axes", "f8", (6,)),
        ("key", f"S{KEY_BYTES}"),
        ("who", f"S{WHO_BYTES}"),
    ]
)
ANSWER = np.dtype([("number", "i8"), ("accepted", "i8"), ("text", f"S{TEXT_BYTES}")])
LANE = np.dtype(
    [
        ("posted", "i8"),
        ("taken", "i8"),
        ("requests", REQUEST, (REQUESTS_A_LANE,)),
        ("answers", ANSWER, (REQUESTS_A_LANE,)),
    ],
    align=True,
)
FRONT = np.dtype(
    [
        *((name, "i8") for name in ("turn", "state", "armed", "runs")),  # turn: odd while the loop writes
        ("ring", f"S{NAME_BYTES}"),
        ("sentence", f"S{SENTENCE_BYTES}"),
        ("recording", f"S{SENTENCE_BYTES}"),
    ],
    align=True,
)
BOX = np.dtype(
    [
        *((name, "i8") for name in ("magic", "version", "pid", "bell")),
        ("lanes", LANE, (LANES,)),
        ("front", FRONT),
        ("info", f"S{INFO_BYTES}"),
    ],
    align=True,
)


class Front(NamedTuple):
    """State of a session. `ring` is that of its last run, `recording` the last complete one."""

    state: int = OFF
    armed: bool = False
    runs: int = 0
    ring: str = ""
    sentence: str = ""
    recording: str = ""


class Request(NamedTuple):
    """A request to the loop: `key`, `value` and `ramp` [s] with SET; with STEER the six `axes` of the hand, and as `value`
    whether the dead man's switch is held. `who` is the name that the sender gives itself: for the record, not for trust."""

    kind: int
    key: str
    value: float
    ramp: float
    axes: tuple[float, ...]
    lane: int
    number: int
    who: str = ""


class Answer(NamedTuple):
    accepted: bool
    text: str
