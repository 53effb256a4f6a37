"""The doctor: check whether this host can run a loop in real time, and what should be changed.

It inspects the host and measures: a fresh process waits for deadlines at the requested rate, as the loop does, and reports how
late it was woken. The grade depends on the worst lateness, since one late tick is enough to stop a robot. For comparison it
runs cyclictest, the standard benchmark of real-time Linux, if installed: no program on that core can do better than that.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from hilt.core import registry
from hilt.core.clock import PeriodicClock
from hilt.core.faults import InputError
from hilt.host import child, realtime
from hilt.host.claims import Claims
from hilt.host.realtime import percentiles
from hilt.live import cores

GRADES = ((50.0, "excellent"), (100.0, "good"), (200.0, "fair"), (500.0, "poor"))  # worst lateness [µs]
WORST_GRADE = "unfit"
RATES = (1.0, 10_000.0)
HISTOGRAM_END = 20_000  # [µs]
ENOUGH = 0.5  # share of a period that the worst lateness may take
WARM_UP = 20  # deadlines that are not counted, while pages and caches are loaded
_CPU = Path("/sys/devices/system/cpu")
_KERNEL = Path("/proc/sys/kernel")


def grade(worst_us: float) -> str:
    return next((name for limit, name in GRADES if worst_us < limit), WORST_GRADE)


def check(rate: float, seconds: float) -> None:
    """Refuse a rate or time that cannot be measured, and refuse to measure while a session is live."""
    if not RATES[0] <= rate <= RATES[1]:
        raise InputError(f"rate is {rate:g} Hz; it must be {RATES[0]:g} to {RATES[1]:g} Hz; choose a rate in this range")
    if not 1.0 / rate <= seconds <= 3600.0:
        raise InputError(
            f"time is {seconds:g} s; it must be one period ({1.0 / rate:g} s) to 3600 s; choose a time in this range"
        )
    cores.check_nobody_live()


def examine(rate: float = 1000.0, seconds: float = 10.0) -> dict[str, Any]:
    """Inspect the host and measure it at a rate [Hz], for some seconds; see `words`."""
    check(rate, seconds)
    ours = Claims()  # so that no session starts on this core in the meantime
    try:
        core, host = cores.take(ours), look()
        found: dict[str, Any] = {"rate_hz": rate, "seconds": seconds, **measure_apart(rate, seconds, core), "host": host}
        beside = cyclictest(rate, seconds, core)
    finally:
        ours.close()
    found["grade"] = grade(found["lateness_us"]["max"])
    found["robots"] = robots(found["lateness_us"]["max"])
    if beside is not None:
        found["cyclictest"] = beside
    found["advice"] = advise(found)
    return found


def robots(worst_us: float) -> dict[str, dict[str, float]]:
    """Return, for each of hilt's robot drivers, its fastest cycle [s] and the share of it that the worst lateness takes."""
    found = {}
    for name in registry.names("robots"):
        cycle = getattr(registry.load("robots", name), "FASTEST", None) if registry.shipped("robots", name) else None
        if cycle is not None:
            found[name] = {"cycle": cycle, "share": round(1e-6 * worst_us / cycle, 3)}
    return found


# The measurement


def measure(rate: float, seconds: float, core: int | None) -> dict[str, Any]:
    """Wait for deadlines in this process, and return how late it was woken."""
    count = max(1, round(rate * seconds))
    late = np.zeros(count + WARM_UP)
    rights = realtime.take_rights(core)
    clock = PeriodicClock()
    try:
        clock.start()
        for k in range(count + WARM_UP):
            late[k] = clock.wait_until(k / rate)
    finally:
        rights.release()
    return {
        "lateness_us": percentiles(late[WARM_UP:] * 1e6),
        "overruns": clock.overruns,
        "oversleeps": clock.oversleeps,
        "rights": rights.as_json(),
    }


def measure_apart(rate: float, seconds: float, core: int | None) -> dict[str, Any]:
    """Measure in a fresh process."""
    command = child.command("hilt.lab.doctor", str(rate), str(seconds), "" if core is None else str(core))
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, timeout=seconds + 60.0)
    measured: dict[str, Any] = json.loads(answer.stdout)
    return measured


def cyclictest(rate: float, seconds: float, core: int | None) -> dict[str, Any] | None:
    """Measure the same deadlines with cyclictest on the same core; None if it is not installed or not permitted to run."""
    program = shutil.which("cyclictest")
    if program is None:
        return None
    command = [program, "--quiet", "--mlockall", f"--priority={realtime.PRIORITY}", f"--interval={round(1e6 / rate)}"]
    command += [f"--loops={max(1, round(rate * seconds))}", "--threads=1", f"--histogram={HISTOGRAM_END}"]
    command += [f"--affinity={core}"] if core is not None else []
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds + 60.0)
    return histogram_percentiles(*read_histogram(done.stdout)) if done.returncode == 0 else None


def read_histogram(text: str) -> tuple[dict[int, int], int]:
    """Parse the output of cyclictest: lines `000012 000345`, latency [µs] and count, and a comment with the worst."""
    counts, worst, beyond = {}, 0, 0
    for line in text.splitlines():
        parts = line.split()
        if line.startswith("# Max Latencies:"):
            worst = int(parts[3])
        elif line.startswith("# Histogram Overflows:"):
            beyond = int(parts[3])
        elif len(parts) == 2 and all(part.isdigit() for part in parts) and int(parts[1]):
            counts[int(parts[0])] = int(parts[1])
    if beyond:  # only the worst of these is known
        counts[worst] = beyond
    return counts, max([worst, *counts])


def histogram_percentiles(counts: dict[int, int], worst: int) -> dict[str, Any] | None:
    """Return the percentiles of a histogram of counts by latency [µs]."""
    if not counts:
        return None
    values = np.repeat(sorted(counts), [counts[latency] for latency in sorted(counts)])
    return {"lateness_us": {**percentiles(values), "max": float(worst)}}


# The host


def _text(path: Path) -> str:
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return ""


def preemption() -> str:
    """Return the kernel's preemption model: a fast loop needs realtime."""
    if _text(Path("/sys/kernel/realtime")) == "1":
        return "realtime"
    now = _text(Path("/sys/kernel/debug/sched/preempt"))  # "none voluntary (full)"
    if "(" in now:
        return now[now.index("(") + 1 : now.index(")")]
    version = platform.version()
    for mark, name in (("PREEMPT_RT", "realtime"), ("PREEMPT_DYNAMIC", "dynamic"), ("PREEMPT", "full")):
        if mark in version:
            return name
    return "none or voluntary"


def look() -> dict[str, Any]:
    """Return properties and permissions of the host, without measuring."""
    rights = realtime.take_rights(None)
    rights.release()
    return {
        "kernel": platform.release(),
        "preemption": preemption(),
        "processor": platform.machine(),
        "cores": os.cpu_count(),
        "isolated_cores": sorted(realtime.isolated_cores()),
        "governors": sorted({_text(path) for path in _CPU.glob("cpu[0-9]*/cpufreq/scaling_governor")}),
        "clock_source": _text(Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        "virtual": "hypervisor" in _text(Path("/proc/cpuinfo")),
        "fifo": "priority" in rights.granted,
        "mlock": "memory" in rights.granted,
        "refused": dict(rights.refused),
        "throttled_after": _throttling(),
        "load": round(os.getloadavg()[0], 2),
        "interfaces": interfaces(),
    }


def _throttling() -> float | None:
    """Return the fraction of a second after which the kernel throttles a real-time process; None for never."""
    runtime, period = _text(_KERNEL / "sched_rt_runtime_us"), _text(_KERNEL / "sched_rt_period_us")
    if not runtime or not period or int(runtime) < 0:
        return None
    return int(runtime) / int(period)


def interfaces() -> dict[str, dict[str, Any]]:
    """Return the network interfaces: whether a cable is connected, and the speed [Mbit/s]."""
    found = {}
    for folder in sorted(Path("/sys/class/net").glob("*")):
        speed = _text(folder / "speed")
        found[folder.name] = {
            "state": _text(folder / "operstate"),
            "speed": int(speed) if speed.isdigit() else None,
            "wireless": (folder / "wireless").exists(),
        }
    return found


def advise(found: dict[str, Any]) -> list[str]:
    """Return what to change, the most effective first."""
    host, worst = found["host"], found["lateness_us"]["max"]
    advice = list(host["refused"].values())
    if host["preemption"] != "realtime":
        advice.append(
            f"the kernel's preemption model is '{host['preemption']}'; install a PREEMPT_RT kernel (linux-image-rt-*)"
        )
    if host["virtual"]:
        advice.append("this is a virtual machine, which its host may pause at any time; run on bare metal")
    slow = [name for name in host["governors"] if name != "performance"]
    if slow:
        advice.append(f"the frequency governor is {', '.join(slow)}; change it: cpupower frequency-set -g performance")
    if not host["isolated_cores"] and (host["cores"] or 1) > 1:
        advice.append("no core is isolated; boot with isolcpus=N nohz_full=N rcu_nocbs=N (N: the last core)")
    if host["clock_source"] not in ("tsc", "arch_sys_counter", "kvm-clock"):
        advice.append(
            f"the clock source is {host['clock_source'] or 'unknown'}, slow to read; boot with clocksource=tsc if it is stable"
        )
    if host["load"] > 0.5 * (host["cores"] or 1):
        advice.append(f"{host['load']:g} processes are busy on {host['cores']} cores; end them and measure again")
    advice += [f"{name} is wireless; use a cable for devices" for name, net in host["interfaces"].items() if net["wireless"]]
    period = 1e6 / found["rate_hz"]
    if worst > ENOUGH * period:
        advice.append(f"the worst lateness is {worst / period:.0%} of a period; use a lower rate until the host is improved")
    return advice


def _robot(name: str, robot: dict[str, float]) -> str:
    """Say whether this host can answer the packets of a robot's driver in time."""
    fits = "fits" if robot["share"] <= ENOUGH else "too late"
    return f"{name} {1e3 * robot['cycle']:g} ms: {fits} ({robot['share']:.0%})"


def words(found: dict[str, Any]) -> str:
    """Return the findings as text for the terminal."""
    host, late = found["host"], found["lateness_us"]

    def line(name: str, value: Any) -> str:
        return f"  {name:<14}{value}"

    def spread(values: dict[str, float]) -> str:
        return " · ".join(f"{name} {values[name]:g}" for name in ("p50", "p99", "p999", "max")) + " µs"

    nets = ", ".join(f"{name} ({net['state']})" for name, net in host["interfaces"].items())
    lines = [
        f"{found['grade']}: worst wake-up {late['max']:g} µs late at {found['rate_hz']:g} Hz over {found['seconds']:g} s",
        line("lateness", spread(late)),
        *([line("cyclictest", spread(found["cyclictest"]["lateness_us"]))] if "cyclictest" in found else []),
        line("overruns", f"{found['overruns']}, oversleeps {found['oversleeps']}"),
        line("robots", " · ".join(_robot(name, robot) for name, robot in found["robots"].items())),
        line("rights", " · ".join(found["rights"]["granted"].values())),
        line("kernel", f"{host['kernel']}, preemption {host['preemption']}" + (", virtual machine" if host["virtual"] else "")),
        line("cores", f"{host['cores']}, isolated: {', '.join(map(str, host['isolated_cores'])) or 'none'}"),
        line("governor", ", ".join(host["governors"]) or "not known"),
        line("clock source", host["clock_source"] or "not known"),
        line("network", nets or "none"),
    ]
    if found["advice"]:
        lines += ["What to change:", *(f"  - {each}" for each in found["advice"])]
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(measure(float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]) if sys.argv[3] else None)))
