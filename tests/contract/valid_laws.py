"""What must hold of every run of a valid scenario."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

from hilt import job, loop
from hilt.core import registry
from hilt.core.clock import FreeClock
from hilt.core.missing import Missing
from hilt.core.rig import ReplayRig, SimulatedRig
from hilt.core.system import Bench

ROUNDING = 1e-15  # of a difference of two numbers, relative to them


def unexplained(metrics):
    """Names of metrics that are not finite and give no reason."""
    return [
        name
        for name, value in metrics.items()
        for number in (value if isinstance(value, list) else [value])
        if not isinstance(number, Missing) and not math.isfinite(number)
    ]


def ledger_error(system, rows):
    """The ledger's energy error in its worst row, relative to the energy exchanged and stored.

    The change of a store is a difference of two rounded numbers, so it gives the energy exchanged to no more digits than the
    store itself has.
    """
    net = sum(rows[port]["into"] - rows[port]["out"] for port in system.ledger_ports)
    exchanged = sum(rows[port]["into"][-1] + rows[port]["out"][-1] for port in system.ledger_ports)
    stored = system.stored_energy(rows)
    return float(np.abs(net - (stored - stored[0])).max() / max(exchanged + np.abs(stored).max(), 1e-300))


def afresh(made, ticks):
    """The same start again; a new setup would repeat the rehearsal of the twin's clock."""
    return Bench(made.row.copy(), made.x.copy(), made.w.copy(), made.p, ticks, made.code)


class Rows:
    """A sink in memory."""

    def __init__(self, rows):
        self.rows, self._next = rows, 0

    def append(self, row):
        self.rows[self._next] = row[0]
        self._next += 1


def in_the_loop(system, bench, rows, make_rig):
    """The rows of the same run in the only loop."""
    sink = Rows(np.zeros(len(rows), system.row))
    loop.run(bench, make_rig(bench), FreeClock(), sink)
    sink.rows["tick_time"] = rows["tick_time"]  # the machine's speed is not part of the result
    return sink.rows


def largest(rows, period):
    """The largest force, torque and energy, and the largest differences of the set-points, as the guard names them."""
    p, q = rows["X_WB_cmd"]["p"], rows["X_WB_cmd"]["q"]
    v, turns = np.diff(p, axis=0) / period, Rotation.from_quat(q, scalar_first=True)
    w = (turns[1:] * turns[:-1].inv()).as_rotvec() / period if len(p) > 1 else np.zeros((0, 3))
    a = np.diff(v, axis=0) / period
    parts = {
        "force": rows["F_So_S"]["f"],
        "torque": rows["F_So_S"]["tau"],
        "speed": v,
        "acceleration": a,
        "jerk": np.diff(a, axis=0) / period,
        "angular_speed": w,
        "angular_acceleration": np.diff(w, axis=0) / period,
    }
    sizes = {name: float(np.linalg.norm(part, axis=1).max(initial=0.0)) for name, part in parts.items()}
    return sizes | {"energy": float((rows["H"] + rows["H_rot"]).max(initial=0.0))}


def beyond(rows, limits, period):
    """Limits that a set-point has passed without a fault, recomputed from the recorded rows."""
    sent = rows[:-1] if rows["fault"][-1] else rows
    p, q = sent["X_WB_cmd"]["p"], sent["X_WB_cmd"]["q"]
    if not np.isfinite(p).all() or not np.isfinite(q).all():
        return ["not finite"]
    size = np.abs(p).max(initial=0.0)
    # The effect of rounding of positions and attitudes on their differences.
    rounding = {
        "speed": size / period,
        "acceleration": 4 * size / period**2,
        "jerk": 16 * size / period**3,
        "angular_speed": 10 / period,
        "angular_acceleration": 40 / period**2,
    }
    over = [
        f"{name} {found:g} > {limit:g}"
        for name, found in largest(sent, period).items()
        if (limit := getattr(limits, name)) is not None
        and not found <= limit * (1 + 1e-12) + ROUNDING * rounding.get(name, 0.0)
    ]
    outside = (p < limits.workspace_min).any() or (p > limits.workspace_max).any()
    return over + ["workspace"] * bool(outside)


def examine(name, values):
    """Run it; the law that is broken is the assertion that fails. Returns how the run ended."""
    system = registry.system(name)
    made = system.set_up(values)
    bench, log = afresh(made, made.ticks), np.zeros(made.ticks, system.row)
    rows = log[: bench.code.batch(bench.row, bench.x, bench.w, bench.p, log)]
    result = job.finish(system, values, "", rows)
    assert unexplained(result.metrics) == [], "a metric that is not finite and gives no reason"
    off = ledger_error(system, rows)
    assert off <= 1e-9, f"the ledger is off by {off:.1e}"
    assert beyond(rows, values.limits, values.loop.period) == [], "set-points beyond a limit"
    fastest = result.metrics.get("max_speed_ratio", 1.0)
    assert fastest <= 1.0 + 1e-9, f"the twin made energy: {fastest - 1:.1e}"
    again = in_the_loop(system, afresh(made, len(rows)), rows, lambda bench: SimulatedRig(system, bench))
    assert again.tobytes() == rows.tobytes(), "the loop and the batch differ"
    replayed = in_the_loop(system, afresh(made, len(rows)), rows, lambda _: ReplayRig(system, iter([rows])))
    assert replayed.tobytes() == rows.tobytes(), "the replay differs"
    return result.fault.name if result.fault else "done" if rows["done"][-1] else "time"
