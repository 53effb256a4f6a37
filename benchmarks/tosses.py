"""Real tosses of a cube against hilt's thrown body and MuJoCo: parameters fitted on a third, judged on the rest.

    python benchmarks/tosses.py DATA.npz             judge with the frozen parameters, on tosses that were not fitted
    python benchmarks/tosses.py DATA.npz --all       the same on all tosses, for data that the parameters have never seen
    python benchmarks/tosses.py DATA.npz --fit       fit both anew, with the same optimiser, budget and loss, and freeze

DATA.npz has `state` (rows of position, quaternion w x y z and more), `start` (first row of each toss, and the end) and `toss`
(numbers), as `cube_tosses.npz`. Prints JSON.
"""

import argparse
import json
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from matplotlib.figure import Figure
from mujoco import rollout
from scipy.optimize import minimize
from scipy.stats import qmc

from hilt.analysis.tosses import Errors, Toss, errors, find
from hilt.dynamics.thrown_body import Table, ThrownBody, box_corners, throw
from hilt.report import colours

FROZEN = Path(__file__).parents[1] / "tests" / "data" / "tosses" / "parameters.json"
RATE = 148.0  # Hz
HALF_WIDTH, MASS, INERTIA, GRAVITY = 0.0524, 0.37, 8.1e-4, 9.81  # by the authors of the data
# In the data, free flight accelerates at 9.61 m/s², and the cube rests 51.3 mm above the table: lengths are 2.1 % short.
SCALE = 0.979
STEPS = 16  # per sample, for both: 0.42 ms
SHARE = 3  # every third toss is used for fitting
SEED, POINTS, FIRST, ALL = 1, 128, 200, 120  # random points; evaluations of each descent
# In the loss an error of this size counts 1, larger ones saturate: a cube that fell on another side carries no information.
SIZES = Errors(velocity=0.1, spin=2.0, position=0.02, angle=0.3)

Poses = tuple[np.ndarray, np.ndarray]
Model = Callable[[Sequence[float], Toss], Poses]

# name -> (unit, lowest, highest); bounds of parameters searched logarithmically are logarithms to base 10
HILT = {
    "stiffness": ("log10 N/m^n", 3.5, 6.5),
    "exponent": ("", 1.0, 2.0),
    "dissipation": ("log10 s/m", -1.0, 1.5),
    "friction": ("", 0.05, 0.5),
    "radius": ("m", 0.0, 0.015),
}
MUJOCO = {
    "timeconst": ("log10 s", -3.0, -1.3),
    "dampratio": ("log10", -1.0, 1.0),
    "d0": ("", 0.05, 0.999),
    "dwidth": ("", 0.05, 0.999),
    "width": ("log10 m", -5.0, -1.7),
    "friction": ("", 0.05, 0.5),
    "impratio": ("log10", -1.0, 2.0),
}
MUJOCO_SPHERES = {**MUJOCO, "radius": ("m", 0.0005, 0.015)}


def load(path: str) -> list[Toss]:
    """Return all tosses, in metres."""
    data = np.load(path)
    state, start = data["state"].astype(float), data["start"]
    corners = box_corners(HALF_WIDTH, HALF_WIDTH, HALF_WIDTH)
    found = [
        find(int(number), state[a:b, :3] / SCALE, state[a:b, 3:7], RATE, corners, GRAVITY)
        for number, a, b in zip(data["toss"], start[:-1], start[1:], strict=True)
    ]
    return [toss for toss in found if toss is not None]


def hilt_toss(values: Sequence[float], toss: Toss) -> Poses:
    flight = hilt_flight(values, toss)
    return flight.position, flight.attitude


def hilt_flight(values: Sequence[float], toss: Toss) -> Any:
    stiffness, exponent, dissipation, friction, radius = values
    inside = HALF_WIDTH - radius
    cube = ThrownBody(mass=MASS, inertia=INERTIA * np.eye(3), points=box_corners(inside, inside, inside), radius=radius)
    table = Table(stiffness=10**stiffness, exponent=exponent, dissipation=10**dissipation, friction=friction, gravity=GRAVITY)
    return throw(cube, table, toss.state, len(toss.position) - toss.start, 1.0 / RATE, STEPS)


def _mujoco_model(geoms: str) -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(f"""
    <mujoco><option timestep="{1.0 / RATE / STEPS}" gravity="0 0 {-GRAVITY}" cone="elliptic" integrator="implicitfast"/>
      <worldbody><geom type="plane" size="10 10 1" condim="3"/>
        <body><freejoint/><inertial pos="0 0 0" mass="{MASS}" diaginertia="{INERTIA} {INERTIA} {INERTIA}"/>{geoms}</body>
      </worldbody></mujoco>""")


def _ball(corner: np.ndarray) -> str:
    return f'<geom type="sphere" size="0.001" condim="3" pos="{corner[0]} {corner[1]} {corner[2]}"/>'


BOX = _mujoco_model(f'<geom type="box" condim="3" size="{HALF_WIDTH} {HALF_WIDTH} {HALF_WIDTH}"/>')
SPHERES = _mujoco_model("".join(map(_ball, box_corners(HALF_WIDTH, HALF_WIDTH, HALF_WIDTH))))
DATA = {id(model): mujoco.MjData(model) for model in (BOX, SPHERES)}


def _set_mujoco(model: mujoco.MjModel, values: Sequence[float]) -> None:
    timeconst, dampratio, d0, dwidth, width, friction, impratio = values[:7]
    model.geom_solref[:] = 10**timeconst, 10**dampratio
    model.geom_solimp[:] = d0, dwidth, 10**width, 0.5, 2.0
    model.geom_friction[:, 0] = friction
    model.opt.impratio = 10**impratio
    if len(values) == 8:
        radius = values[7]
        model.geom_size[1:, 0] = radius
        model.geom_rbound[1:] = radius
        model.geom_pos[1:] = box_corners(*[HALF_WIDTH - radius] * 3)


def _mujoco_toss(model: mujoco.MjModel, values: Sequence[float], toss: Toss) -> Poses:
    _set_mujoco(model, values)
    count = (len(toss.position) - toss.start - 1) * STEPS
    state, _ = rollout.rollout(model, DATA[id(model)], np.concatenate([[0.0], toss.state])[None, :], nstep=count)
    every = np.vstack([toss.state[:7], state[0, STEPS - 1 :: STEPS, 1:8]])
    return every[:, :3], every[:, 3:]


def mujoco_box(values: Sequence[float], toss: Toss) -> Poses:
    return _mujoco_toss(BOX, values, toss)


def mujoco_spheres(values: Sequence[float], toss: Toss) -> Poses:
    return _mujoco_toss(SPHERES, values, toss)


MODELS: dict[str, tuple[Model, dict[str, Any]]] = {
    "hilt": (hilt_toss, HILT),
    "mujoco-box": (mujoco_box, MUJOCO),
    "mujoco-spheres": (mujoco_spheres, MUJOCO_SPHERES),
}


def judged(model: Model, values: Sequence[float], tosses: Sequence[Toss]) -> np.ndarray:
    """Return the errors of velocity, spin, position and angle, one row per toss; non-finite ones become infinite."""
    rows = np.array([list(asdict(errors(toss, *model(values, toss))).values()) for toss in tosses])
    return np.where(np.isfinite(rows), rows, np.inf)


def loss(model: Model, values: Sequence[float], tosses: Sequence[Toss], parts: slice = slice(0, 4)) -> float:
    """Return the mean over the tosses and over some of the errors."""
    try:
        sizes = np.array(list(asdict(SIZES).values()))
        return float(np.mean(np.log1p(np.minimum(judged(model, values, tosses) / sizes, 100.0))[:, parts]))
    except ValueError:  # a pose that is not finite
        return float(np.log1p(100.0))


def until_second_impact(toss: Toss) -> Toss:
    end = toss.after[1] + 1
    return replace(toss, position=toss.position[:end], attitude=toss.attitude[:end])


def fitted(name: str, tosses: Sequence[Toss]) -> dict[str, Any]:
    """Return the best parameters of a model on some tosses, with the same budget for all models.

    First the errors after the first impact, which are quick to simulate: random points, then Nelder-Mead from the best. Then
    all errors, starting from there. A restart with a fresh simplex frees a collapsed one.
    """
    model, ranges = MODELS[name]
    bounds = [(low, high) for _, low, high in ranges.values()]
    short = [until_second_impact(toss) for toss in tosses]

    def first_impact(values: Sequence[float]) -> float:
        return loss(model, values, short, slice(0, 2))

    def everything(values: Sequence[float]) -> float:
        return loss(model, values, tosses)

    points = qmc.scale(qmc.Sobol(len(bounds), rng=SEED).random(POINTS), *np.transpose(bounds))
    at, best = min(points, key=first_impact), math.inf
    for what, count in ((first_impact, FIRST), (first_impact, FIRST), (everything, ALL)):
        options = {"maxfev": count, "initial_simplex": _simplex(at, bounds), "fatol": 0.0, "xatol": 0.0, "adaptive": True}
        found = minimize(what, at, method="Nelder-Mead", bounds=bounds, options=options)
        at, best = found.x, float(found.fun)
        print(f"{name}: {best:.4f}", dict(zip(ranges, at.round(4).tolist(), strict=True)), file=sys.stderr, flush=True)
    return {"loss": best, "values": dict(zip(ranges, at.tolist(), strict=True))}


def _simplex(at: np.ndarray, bounds: list[tuple[float, float]]) -> np.ndarray:
    steps = [0.05 * (high - low) * (1 if x < 0.5 * (low + high) else -1) for x, (low, high) in zip(at, bounds, strict=True)]
    return np.vstack([at, at + np.diag(steps)])


def summary(rows: np.ndarray) -> dict[str, Any]:
    units = {"velocity_m_s": 0, "spin_rad_s": 1, "position_m": 2, "angle_rad": 3}
    return {
        name: {"median": float(np.median(rows[:, i])), "p75": float(np.percentile(rows[:, i], 75))} for name, i in units.items()
    }


LOOKS = {
    "hilt": ("hilt", {"color": colours.MEASURED}),
    "mujoco-spheres": ("MuJoCo, eight spheres", {"color": colours.CONTROLLER, "linestyle": "--"}),
    "mujoco-box": ("MuJoCo, box", {"color": "#2a9d5c", "linestyle": ":"}),
}


def picture(path: str, frozen: dict[str, list[float]], tosses: Sequence[Toss]) -> None:
    """Draw the share of tosses with an error below x, and two tosses over time, at the quartiles of hilt's final position."""
    fig = Figure(figsize=(10.0, 6.4), layout="constrained")
    above, below = fig.subfigures(2, 1, height_ratios=(1.0, 1.05))
    rows = {name: judged(MODELS[name][0], values, tosses) for name, values in frozen.items()}
    kinds = (("velocity after the first impact", "m/s", 0.3), ("spin after it", "rad/s", 10.0))
    kinds += (("final position", "m", 0.12), ("final attitude", "rad", 2.0))
    share = np.arange(1, len(tosses) + 1) / len(tosses)
    for i, (axes, (what, unit, most)) in enumerate(zip(above.subplots(1, 4, sharey=True), kinds, strict=True)):
        for name, (words, look) in LOOKS.items():
            axes.plot(np.sort(rows[name][:, i]), share, label=words, **look)
        axes.axhline(0.5, color="0.8", linewidth=0.8, zorder=0)
        axes.set(xlim=(0.0, most), ylim=(0.0, 1.0), xlabel=f"error: {what} [{unit}]")
        axes.xaxis.label.set_size(8)
        axes.locator_params(axis="x", nbins=4)
    above.axes[0].set_ylabel("share of the tosses below")
    above.axes[0].legend(fontsize=8, loc="lower right")
    order = np.argsort(rows["hilt"][:, 2])
    for axes, rank in zip(below.subplots(1, 2), (0.25, 0.75), strict=True):
        toss = tosses[order[int(rank * len(order))]]
        time = np.arange(len(toss.position)) / toss.rate
        axes.plot(time, 1e3 * toss.position[:, 2], "o", color="0.6", markersize=2.5, label="measured")
        for name, (_, look) in LOOKS.items():
            place, _ = MODELS[name][0](frozen[name], toss)
            axes.plot(time[toss.start :], 1e3 * place[:, 2], linewidth=1.2, **look)
        axes.axvline(time[toss.start], color="0.7", linewidth=0.8)
        axes.text(time[toss.start], axes.get_ylim()[1], " simulated from here", fontsize=8, va="top")
        axes.set(xlabel="time [s]", ylabel="height of the centre [mm]", title=f"toss {toss.number}")
        axes.title.set_size(9)
        axes.legend(fontsize=8)
    fig.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Real tosses of a cube beside hilt and MuJoCo.")
    parser.add_argument("data")
    parser.add_argument("--fit", action="store_true", help="fit all models anew and freeze their parameters")
    parser.add_argument("--all", action="store_true", help="judge on all tosses of the file")
    parser.add_argument("--picture", help="file for the picture of docs/tosses.md")
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    chosen = parser.parse_args()
    tosses = load(chosen.data)
    part = [toss for index, toss in enumerate(tosses) if index % SHARE == 0]
    rest = tosses if chosen.all else [toss for index, toss in enumerate(tosses) if index % SHARE]
    frozen = json.loads(FROZEN.read_text()) if FROZEN.exists() else {}
    if chosen.fit:
        for name in chosen.models:
            frozen[name] = fitted(name, part)
            FROZEN.parent.mkdir(parents=True, exist_ok=True)
            FROZEN.write_text(json.dumps(frozen, indent=2) + "\n")
    results: dict[str, Any] = {"tosses": len(rest), "fitted_on": len(part)}
    for name in chosen.models:
        values = list(frozen[name]["values"].values())
        results[name] = summary(judged(MODELS[name][0], values, rest))
        results[name]["loss"] = loss(MODELS[name][0], values, rest)
        if name == "hilt":
            flights = [hilt_flight(values, toss) for toss in rest]
            results[name]["energy_made_of_start"] = max(flight.energy_made / flight.energy[0] for flight in flights)
    print(json.dumps(results, indent=2))
    if chosen.picture:
        picture(chosen.picture, {name: list(frozen[name]["values"].values()) for name in chosen.models}, rest)


if __name__ == "__main__":
    main()
