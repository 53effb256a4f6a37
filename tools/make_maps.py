"""The first figure of docs/maps.md: delay × stiffness for three methods of docking; run by hand because it takes minutes.

python tools/make_maps.py
"""

from pathlib import Path

from hilt import job
from hilt.report import figure
from hilt.report.colours import MADE, MEASURED
from hilt.sweeps import engines, map_page, maps
from hilt.sweeps.batch import Batch
from hilt.sweeps.beyond import Limit
from hilt.sweeps.maps import Map, Side

METHODS = {"none": "none: untreated", "pida": "pida: He & Shen 2022", "twin": "twin"}
DELAY = Side("robot.delay", "s", 0.5e-3, 100e-3, 25, log=True)
STIFFNESS = Side("contact.stiffness", "N/m", 10e3, 3e6, 25, log=True)
DIVERGED, GOAL = (Limit("diverged"),), (Limit("cov", 0.01), Limit("cof", 0.05))
MISSED = "#dfe9f3"
PICTURE = Path(__file__).parents[1] / "docs" / "maps.svg"


def found(method: str, limits: tuple[Limit, ...]) -> Map:
    system, values, name = job.find("docking", "table1", [f"compensate.method={method}"])
    return maps.draw(Batch(system, name, values, engines.named("threads")), DELAY, STIFFNESS, limits, halvings=7)


def main() -> None:
    with figure.styled():
        drawn, panels = figure.subplots(1, 3, figsize=(11.0, 4.2), sharey=True)
        for axes, (method, title) in zip(panels, METHODS.items(), strict=True):
            goal, edge = found(method, GOAL), found(method, DIVERGED)
            print(f"{method}: {goal.runs + edge.runs} runs")
            scales = map_page.set_up(axes, goal)
            map_page.region(axes, goal, scales, MISSED, "goal missed: speed off by 1 % or force by 5 %", color=MEASURED)
            map_page.region(axes, edge, scales, map_page.BEYOND, "diverges", color=MADE)
            map_page.forms(axes, edge if method == "none" else goal, scales)
            map_page.cross(axes, goal, scales, "facility of the README: 20 ms, 176 N/mm")
            axes.set_title(title, fontsize=10)
            axes.label_outer()
        entries = {label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)}
        drawn.legend(entries.values(), entries.keys(), loc="outside upper center", ncols=3, fontsize=8)
        drawn.savefig(PICTURE, metadata={"Date": None}, dpi=150)
    print(f"{PICTURE}: {PICTURE.stat().st_size} bytes")


if __name__ == "__main__":
    main()
