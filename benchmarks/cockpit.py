"""Measure the cockpit: `python benchmarks/cockpit.py [operator stop payload attack watch kill scrub]`, JSON lines.

operator   hand to virtual arm [ms] over 60 changes of the input, hils-2
stop       click to STOPPED [ms] over 50 trials, in simulation and on the dry lab
payload    both on the two robots of dry-lab-payload, hils-2 driven by keys: hand to virtual arm, click to STOPPED and, from the
           robots' own logs, to the last motion command of each; force in the grip on the way home [N]
attack     the same in one run, calm and while a second client floods forms, opens a recording of 2 GB and 30 sockets, strangers
           stand at the door, and another user fills the shared folders
watch      10 minutes of 1 kHz before two browsers: memory, rate, and the loop's lateness with and without them
kill       the server killed while a run is live: the loop's lateness before and after
scrub      100 seeks in a recording of 10 minutes, and what opening it takes
"""

import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from playwright.sync_api import expect

from hilt import job
from hilt.device import rigfile
from hilt.live import mailbox
from hilt.record import recording
from tests.e2e import attack as attackers
from tests.e2e import cockpit as pages
from tests.e2e.cockpit import Browser, browser, dry_lab, end, server, until
from tests.e2e.lab import judged, payload_rig
from tests.e2e.test_cockpit_payload_lab import apart_on_the_way, go_home, rest_of

pages.SCALE = 1.0  # every pixel that a user has

LONG_RUN = {"loop.duration": "900 s", "collisions": "10000"}
MINUTES = float(os.environ.get("HILT_MINUTES", "10"))
GIGABYTES = float(os.environ.get("HILT_GIGABYTES", "1.9"))  # of rows; hilt opens at most 2 GB
TRIALS = int(os.environ.get("HILT_TRIALS", "50"))


def figures(samples):
    """Return the statistics that a latency is judged by."""
    p50, p95, worst = np.percentile(samples, (50, 95, 100))
    return {"n": len(samples), "p50": round(float(p50), 1), "p95": round(float(p95), 1), "max": round(float(worst), 1)}


def lateness(rows):
    p50, p90, p99, worst = np.percentile(rows["lateness"] * 1e6, (50, 90, 99, 100)).round(1).tolist()
    return {"rows": len(rows), "p50_us": p50, "p90_us": p90, "p99_us": p99, "max_us": worst}


def rows_of(name):
    """Return the rows of a station's last run once it is written."""
    watcher = mailbox.Watcher(name)
    path = until(lambda: watcher.front.state == mailbox.STOPPED and watcher.front.recording, 120.0)
    watcher.close()
    return recording.load(Path(path)).rows


HANDS = {"operator.kind": "live", "operator.start": "0 s", "loop.duration": "300 s"}
GRIP = 20e3  # [N/m]
PRESSED = "addEventListener('pointerdown', () => (window.pressed = Date.now()), {capture: true, once: true})"


def push(page, pushes=30):
    """Push forth and back with the dead man's switch held."""
    page.page.keyboard.down("f")
    for number in range(pushes):
        key = "ArrowLeft" if number % 2 else "ArrowRight"
        page.page.keyboard.down(key)
        page.pause(0.5)
        page.page.keyboard.up(key)
        page.pause(0.5)
    page.page.keyboard.up("f")
    found = page.probe("latency")
    return {"hand_to_motion_ms": figures(found["motion"]), "hand_to_loop_ms": figures(found["echo"])}


def operator(folder):
    with browser() as chromium, server(folder) as found:
        page = chromium.page(found.address)
        page.launch("payload", "hils-2", HANDS)
        page.take()
        page.go()
        page.part("tab-operator").click()
        page.pause(1.0)
        return push(page)


def payload(folder):
    """hils-2 unchanged for the hand; for STOP a light payload and 1 s of delay, so that both robots soon move as commanded."""
    rig, light = rigfile.find("dry-lab-payload"), {**HANDS, "link.delay": "1 s", "payload.mass": "500 kg"}
    stops, rests, strains, ways = [], {"table": [], "arm": []}, [], []
    with (
        dry_lab(folder, payload_rig(), rig, folder / "log.csv", realtime=True) as lab,
        browser() as chromium,
        server(folder) as found,
    ):
        results = {}
        for settings in (HANDS, light):
            page = chromium.page(found.address)
            lab.ready()
            name = page.launch("payload", "hils-2", settings, lab.name)
            page.take()
            page.part("tab-operator").click()
            for trial in range(TRIALS if settings is light else 1):
                if trial:
                    begun = time.monotonic()
                    go_home(page)
                    way, strain = apart_on_the_way(lab, begun)
                    ways.append(way)
                    strains.append(GRIP * strain.max())
                page.go()
                page.pause(1.0)
                if settings is HANDS:
                    results |= push(page)
                    page.part("stop").click()
                    page.is_in("STOPPED")
                    continue
                page.page.keyboard.down("f")
                page.page.keyboard.down("ArrowRight")
                page.pause(2.0)
                page.page.evaluate(
                    "addEventListener('pointerdown', () => (window.pressed = Date.now()), {capture: true, once: true})"
                )
                page.part("stop").click()
                page.is_in("STOPPED")
                page.page.keyboard.up("ArrowRight")
                page.page.keyboard.up("f")
                pressed = page.page.evaluate("window.pressed") / 1e3 + time.monotonic() - time.time()
                for robot, each in rests.items():
                    each.append(1e3 * (rest_of(lab, robot, pressed - 1.0) - pressed))
            stops = page.probe("stops")
            expect(page.part("reset")).to_be_enabled()
            page.page.context.close()
            end(name)
            if settings is HANDS:
                lab.control.restart()
        violations = {name: each["violation_count"] for name, each in judged(lab.facility).items()}
    return {
        **results,
        "stop_ms": figures(stops),
        **{f"{robot}_at_rest_ms": figures(each) for robot, each in rests.items()},
        "home_mm": figures(1e3 * np.array(ways)),
        "home_force_N": figures(strains),
        "violations": violations,
    }


def stop(folder):
    results = {}
    with dry_lab(folder) as lab, browser() as chromium, server(folder) as found:
        for place, rig in (("simulation", None), ("dry_lab", lab.name)):
            page = chromium.page(found.address)
            lab.ready()
            name = page.launch("docking", "table1", {} if rig else LONG_RUN, rig)
            page.take()
            for trial in range(TRIALS):
                if trial:
                    expect(page.part("reset")).to_be_enabled()
                    page.part("reset").click()
                    page.is_in("READY")
                if trial and rig:
                    page.arm()
                    page.part("home").click()
                    page.is_in("READY")
                page.go()
                page.pause(0.3)
                page.part("stop").click()
                page.is_in("STOPPED")
            results[f"{place}_ms"] = figures(page.probe("stops"))
            page.page.context.close()
            end(name)
    return results


def attack(folder):
    """Measure calm, under attack and calm again, with one page, one server and one session."""
    results = {}
    recorded = attackers.long_recording(folder / "runs", int(GIGABYTES * 2**30))
    with browser() as chromium, server(folder) as found:
        page = chromium.page(found.address)
        name = page.launch("docking", "table1", LONG_RUN)
        page.take()
        for part in ("calm", "attacked", "calm_again"):
            with ExitStack() as stack:
                if part == "attacked":
                    stack.enter_context(attackers.attack(found, name, recorded))
                    time.sleep(10.0)  # until all attacks are running
                before = len(page.probe("stops"))
                for trial in range(TRIALS):
                    if before or trial:
                        page.again()
                    else:
                        page.go()
                    page.pause(0.3)
                    page.part("stop").click()
                    page.is_in("STOPPED")
                results[f"{part}_ms"] = figures(page.probe("stops")[before:])
                results[f"{part}_load"] = os.getloadavg()[0]
        page.page.context.close()
        end(name)
    return {"recording_gb": GIGABYTES, **results}


def heap(page):
    """Return the bytes of the page's own objects, without garbage."""
    session = page.page.context.new_cdp_session(page.page)
    session.send("HeapProfiler.collectGarbage")
    found = session.send("Runtime.getHeapUsage")["usedSize"]
    session.detach()
    return found


def watch(folder):
    """A minute without browsers, ten with two, a minute without, in one run."""
    with ExitStack() as stack:
        first = stack.enter_context(browser())
        found = stack.enter_context(server(folder))
        pages = [first.page(found.address)]
        name = pages[0].launch("docking", "table1", LONG_RUN)
        other = Browser(first.playwright)
        stack.callback(other.chromium.close)
        pages.append(other.page("about:blank"))
        pages[0].take()
        pages[0].go()
        pages[0].page.goto("about:blank")
        alone = (5.0, 60.0)
        time.sleep(60.0)
        for page in pages:
            page.page.goto(found.link(session=name))
            page.is_in("LIVE")
        samples = []
        begun = pages[0].probe("t")
        while (t := pages[0].probe("t")) < begun + 60.0 * MINUTES:
            pages[0].pause(10.0)
            sample = {"t": t, "server": found.memory, "pages": [heap(page) for page in pages]}
            samples.append({**sample, "rates": [page.probe("rate") for page in pages]})
        for page in pages:
            page.page.goto("about:blank")
        time.sleep(60.0)
        sender = mailbox.Sender(name)
        sender.wait(sender.stop(), 10.0)
        sender.close()
        rows = rows_of(name)
    level = [sample for sample in samples if sample["t"] > begun + 60.0]
    rates = np.array([sample["rates"] for sample in samples])
    between = lambda a, b: rows[(rows["t"] > a) & (rows["t"] < b)]  # noqa: E731
    return {
        "seconds": samples[-1]["t"] - begun,
        "server_mb": [round(sample["server"] / 2**20, 1) for sample in (level[0], level[-1])],
        "server_mb_most": round(max(sample["server"] for sample in level) / 2**20, 1),
        "pages_mb": [[round(b / 2**20, 1) for b in sample["pages"]] for sample in (level[0], level[-1])],
        "pages_mb_most": round(max(max(sample["pages"]) for sample in level) / 2**20, 1),
        "rate_hz": {"median": np.median(rates, axis=0).tolist(), "least": rates.min(axis=0).tolist()},
        "rows": len(rows),
        "ticks_consecutive": bool((np.diff(rows["tick"]) == 1).all()),
        "lateness_alone": lateness(between(*alone)),
        "lateness_watched": lateness(between(begun + 5.0, samples[-1]["t"])),
        "lateness_alone_again": lateness(between(rows["t"][-1] - 55.0, rows["t"][-1])),
    }


def kill(folder):
    with browser() as chromium, server(folder) as found:
        page = chromium.page(found.address)
        name = page.launch("docking", "table1", LONG_RUN)
        page.take()
        page.go()
        page.until("window.hilt.t > 20")
        t = page.probe("t")
        page.page.goto("about:blank")
        found.child.kill()
        time.sleep(20.0)
        sender = mailbox.Sender(name)
        sender.wait(sender.stop(), 10.0)
        sender.close()
        rows = rows_of(name)
    before, after = rows[(rows["t"] > t - 15.0) & (rows["t"] < t)], rows[(rows["t"] > t) & (rows["t"] < t + 15.0)]
    around = rows[(rows["t"] > t - 0.1) & (rows["t"] < t + 1.0)]
    return {
        "ticks_consecutive": bool((np.diff(rows["tick"]) == 1).all()),
        "before": lateness(before),
        "around": lateness(around),
        "after": lateness(after),
    }


def scrub(folder):
    begun = time.perf_counter()
    long = ["collisions=10000", f"loop.duration={60 * MINUTES} s"]
    path = Path(job.run(*job.find("docking", "table1", long), folder / "runs").recording)
    made = time.perf_counter() - begun
    with browser() as chromium, server(folder) as found:
        page = chromium.page(found.address)
        begun = time.perf_counter()
        page.page.goto(found.link(recording=path.stem))
        page.until("window.hilt.frames > 0", 120.0)
        opened = time.perf_counter() - begun
        for t in np.random.default_rng(1).uniform(0.0, 60.0 * MINUTES, 100):
            seek = "(bar, t) => { bar.value = t; bar.dispatchEvent(new Event('input')); }"
            page.part("scrub-bar").evaluate(seek, float(t))
            page.until(f"Math.abs(window.hilt.t - {t}) < 1e-3")
        seeks = page.probe("seeks")
    return {
        "rows": len(recording.load(path).rows),
        "made_s": round(made, 1),
        "opened_s": round(opened, 1),
        "first_seek_ms": round(seeks[0], 1),
        "seek_ms": figures(seeks),
    }


PARTS = {each.__name__: each for each in (operator, stop, payload, attack, watch, kill, scrub)}


def main():
    for part in sys.argv[1:] or PARTS:
        with tempfile.TemporaryDirectory() as folder:
            results = PARTS[part](Path(folder))
        print(json.dumps({"part": part, "load": os.getloadavg()[0], **results}), flush=True)


if __name__ == "__main__":
    main()
