"""What was seen when several methods met the same contact, in words."""

from hilt.job import Result
from hilt.report.words import percent, si
from hilt.systems.docking.views.bound import bound_of
from hilt.systems.docking.views.contacts import scenario_of


def _one(name: str, result: Result) -> str:
    m = result.metrics
    cov, cof = m["cov"], m["mean_cof"]
    if not cov:
        return f"{name} did not finish a collision"
    if m["diverged"]:
        made = sum(row["net_J"] for row in result.ledger["rows"] if row["port"] in ("delay", "sampling", "sensor"))
        return (
            f"{name} diverges, {cov[0]:.2f} times as fast as in space after the first contact and {cov[-1]:.3g} times after "
            f"contact {len(cov)}, by {si(made, 'J')} made by delay, sampling and sensor"
        )
    worst = max(abs(value - 1.0) for value in cov)
    speed = "keeps the speed" if worst < 0.005 else f"misses the speed by up to {worst:.1%}"
    slip = m.get("time_slip_s", 0.0)
    slower = f" with {si(slip, 's', 3)} of time slip" if slip > 1e-4 else ""
    return f"{name} {speed} and hits {cof:.2f} times as hard on average{slower}"


def comparison_sentence(results: dict[str, Result]) -> str:
    """One sentence for all of them."""
    delays = {result.scenario.robot.delay for result in results.values()}  # type: ignore[attr-defined]
    where = f"On a robot {si(delays.pop(), 's')} late: " if len(delays) == 1 else ""
    return where + "; ".join(_one(name, result) for name, result in results.items()) + "." + _bound(results)


def _bound(results: dict[str, Result]) -> str:
    """What physics forces on all of them, where it is the same for all."""
    bounds = {bound_of(scenario_of(result)) for result in results.values()}
    least = bounds.pop() if len(bounds) == 1 else None
    if least is None:
        return ""
    if least > 1.0:
        within = percent(least - 1.0)
        return f" In real time no method keeps the force of a first touch just after a tick within {within} of ideal."
    return " Physics would allow the ideal force at the first touch, in real time."
