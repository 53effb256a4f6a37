"""Step 6: the virtual clock. Near a frame that is not known it runs slower, by the β of the rehearsal; the slip is reported.

It slows down before the touch and goes back to real time from the touch on, more gently.
Time in space is not time in the laboratory: a slower clock leaves the contact as it is in space and gives the robot, which
learns of it late, less way to go wrong. In real time β = 1 always.
"""

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.core.stage import StageKind
from hilt.systems.docking.twin import model

IN_FLIGHT, AFTER_TOUCH = 8.0, 3.0  # 1/s
TOLERANCE, NOTICE = 1e-3, 0.070  # m, s; a robot of ζ = 0.5 needs the time to settle after the clock has slowed down


@jit
def go_on(sig, x, aim, dt):
    """One tick on, and the clock's rate towards `aim`."""
    x.slip += (1.0 - sig.clock_rate) * dt
    most = (AFTER_TOUCH if sig.touch != 0 else IN_FLIGHT) * dt
    change = min(max(aim - sig.clock_rate, -most), most)
    sig.clock_rate += change
    sig.clock_slope = change / dt
    sig.clock_aim = aim
    sig.time_slip = x.slip


@jit
def clock_step(sig, x, p, dt):
    e = 1 if sig.v_twin > 0.0 else -1
    i = model.place_of(e)
    near = abs(sig.x_twin - p.surfaces[i]) < TOLERANCE + NOTICE * abs(sig.v_twin)
    aim = p.guarded if near and sig.frame_known[i] != model.KNOWN and sig.touch == 0 else 1.0
    go_on(sig, x, aim, dt)


def _pack(p, scenario):
    p.guarded = 1.0 if scenario.rotates else scenario.guarded_clock  # six: a clock of its own
    p.surfaces = scenario.prior.surfaces(scenario)


@jit
def start_clock(sig, x, p):
    sig.clock_rate = 1.0
    sig.clock_aim = 1.0


TWIN_CLOCK = StageKind(
    "twin-clock",
    clock_step,
    reads=("x_twin", "v_twin", "frame_known", "touch", "clock_rate"),
    writes=("clock_rate", "clock_slope", "clock_aim", "time_slip"),
    state=record(slip="f8"),
    params=record(guarded="f8", surfaces=2),
    pack=_pack,
    reset=start_clock,
)
