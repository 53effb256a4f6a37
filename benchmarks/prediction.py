"""How well a simulation with the identified robot predicts the dry lab: docking with pida on the emulated facility.

Identify, run in the lab (`hilt run`, its own process), simulate. A force peak depends on where between two ticks the touch
falls, and on the age of the sensor's sample, between 0 and one period of its clock. Both are random: reported are the
simulation as it is, and mean and range over both. Each run also lists its missed cycles and the time taken by the host of a
virtual machine: runs with many are no evidence.
"""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from hilt import job
from hilt.device import rigfile
from hilt.lab import identify as identify_robot
from hilt.lab.dry.facility import running_facility

RIG = Path(__file__).parents[1] / "rigs" / "dry-lab.toml"
RUNS = 3
TOUCHES = 30
AIM = {"cov": 0.03, "cof": 0.03, "mean_cof": 0.03, "pure_delay_s": 0.001, "natural_frequency": 0.05}
PORTS = ("robot", "sensor")


def file_on(ports: Any, folder: Path) -> Path:
    """Write the dry lab's rig file with the ports of a facility."""
    text, before = RIG.read_text(), rigfile.load(RIG)
    for device in PORTS:
        text = text.replace(f"port = {getattr(before, device)['port']}", f"port = {getattr(ports, device)['port']}")
    path = folder / "rig.toml"
    path.write_text(text)
    return path


def in_the_lab(rig: Path, folder: Path) -> dict[str, Any]:
    command = [sys.executable, "-m", "hilt.cli.main", "run", "docking", "--rig", str(rig), "--set", "compensate.method=pida"]
    done = subprocess.run([*command, "--json", "--out", str(folder)], stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout)
    metrics = {name: found["metrics"][name] for name in ("cov", "cof", "mean_cof")}
    timing = {name: found["timing"][name] for name in ("rows", "rows_lost", "missed", "overruns", "stolen_s")}
    return {**metrics, **timing, "fault": found["fault"], "exit_code": done.returncode}


def simulated(rig: Path) -> dict[str, Any]:
    settings = [*rigfile.load(rig).settings("docking"), "compensate.method='pida'"]
    _, scenario, _ = job.find("docking", "table1", settings)
    way = scenario.approach.speed * scenario.loop.period
    age = scenario.sensor.sample_age
    cases = [
        (f"frames.gap={scenario.frames.gap + share * way}", f"sensor.sample_age={old}")
        for old in (age, 0.0, 2.0 * age)
        for share in np.linspace(0.0, 1.0, TOUCHES, endpoint=False)
    ]
    found = [job.simulate(*job.find("docking", "table1", [*settings, *case])).metrics for case in cases]
    cov, cof = (np.array([each[name] for each in found]) for name in ("cov", "cof"))
    return {
        "cov": cov.mean(0).tolist(),
        "cof": cof.mean(0).tolist(),
        "mean_cof": float(cof.mean()),
        "cof_least": cof.min(0).tolist(),
        "cof_most": cof.max(0).tolist(),
        "cof_as_it_stands": found[0]["cof"],
    }


def main(runs: int) -> int:
    with tempfile.TemporaryDirectory() as name, running_facility(RIG, live=True) as facility:
        folder = Path(name)
        rig, identified = file_on(facility.rig, folder), folder / "identified.toml"
        fit = identify_robot.run(rigfile.load(rig))
        identify_robot.write(fit, rig, identified)
        lab = []
        for _ in range(runs):
            facility.control.wait_for(lambda status: status["robot"]["state"] == "waiting", 60.0)
            time.sleep(1.0)
            lab.append(in_the_lab(rig, folder))
        violations = facility.control.status()["robot"]["violation_count"]
        expected, truth = simulated(identified), facility.rig.facility
    off = {
        key: [np.round(np.subtract(each[key], expected[key]), 4).tolist() for each in lab] for key in ("cov", "cof", "mean_cof")
    }
    within = {key: bool(np.abs(off[key]).max() <= AIM[key]) for key in ("cov", "cof", "mean_cof")}
    within["pure_delay_s"] = abs(fit.pure_delay - truth.dead_time - fit.cycle) <= AIM["pure_delay_s"]
    within["natural_frequency"] = abs(fit.natural_frequency / truth.natural_frequency - 1.0) <= AIM["natural_frequency"]
    robot = {"pure_delay_s": fit.pure_delay, "natural_frequency": fit.natural_frequency, "damping_ratio": fit.damping_ratio}
    result = {"robot": robot, "lab": lab, "simulated": expected, "lab_less_simulated": off, "violations": violations}
    print(json.dumps({"benchmark": "prediction", **result, "within_aim": within, "aims": AIM}))
    return int(violations > 0 or any(each["exit_code"] for each in lab))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS))
