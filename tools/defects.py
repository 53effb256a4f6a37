"""Defects put in by hand, one at a time, and how many trials it takes until one of them is found; see CONTRIBUTING.md.

python tools/defects.py                     all of them; a simulator that finds nothing is worse than none
python tools/defects.py stop rest --most 200
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

SOURCES = Path(__file__).parents[1] / "src"
RIG, COURSE = "device/live_rig.py", "device/course.py"
RSI, NETFT, FCI, RTDE = "device/rsi/driver.py", "device/netft/driver.py", "device/fci/driver.py", "device/rtde/driver.py"


class Defect(NamedTuple):
    name: str
    file: str
    old: str
    new: str
    lab: str = "dry-lab"


# fmt: off
DEFECTS = (
    # Stopping
    Defect("a stop begins one packet late", RIG, "        if self._robot is not None and self.state == STOPPED:\n            self._brake()", "        pass"),
    Defect("nobody waits until the robot is at rest", RIG, "        for _ in range(round(STOP_TIME / self.cycle)):", "        for _ in range(0):"),
    Defect("a stop brakes ten times as hard", RIG, "self._course.slow_down(lab.deceleration, lab.angular_deceleration)", "self._course.slow_down(10.0 * lab.deceleration, lab.angular_deceleration)"),
    Defect("a stop brakes half as hard", RIG, "self._course.slow_down(lab.deceleration, lab.angular_deceleration)", "self._course.slow_down(0.5 * lab.deceleration, lab.angular_deceleration)"),
    Defect("a stop brakes joints half as hard", RIG, "self._joints.brakes(self.file.lab.deceleration, self", "self._joints.brakes(0.5 * self.file.lab.deceleration, 0.5 * self", "dry-lab-ur-joints"),
    Defect("the robot is held at once instead of slowed down", RIG, "        elif not self._course.slow_down(lab.deceleration, lab.angular_deceleration):", "        elif True:"),
    Defect("a fault is forgotten", "loop.py", "            if fault[0]:\n                rig.stop()\n            elif", "            fault[0] *= number[0] % 2\n            if fault[0]:\n                rig.stop()\n            elif"),
    Defect("an operator's stop is answered but not obeyed", "live/overseer.py", '                return self._end(row, "a stop was requested", faults.REQUESTED)', "                continue"),
    Defect("a signal is ignored", "live/overseer.py", "        if self.interrupted:", "        if False:"),
    # Packets of the robot
    Defect("an answer that was lost counts as made", RSI, "        self._take_back()\n", ""),
    Defect("after lost cycles the set-point goes on as if nothing had been lost", RIG, "            self._course.lose(self._sent, reply.stood)", "            pass"),
    Defect("a packet is answered twice", RSI, "        self._answered = True\n        self._answer_ipoc", "        self._answered = False\n        self._answer_ipoc"),
    Defect("time stamps are not compared", RSI, "        if step % self._step or ahead or moved", "        if moved"),
    Defect("answers carry the stamp of the packet before", RSI, 'ipoc, kind = self.state["ipoc"], self.settings.sen_type', 'ipoc, kind = self.state["ipoc"] - self._step, self.settings.sen_type'),
    Defect("a silent robot is not noticed", RSI, "            return faults.ROBOT_SILENT", "            return faults.NONE"),
    Defect("missed cycles do not matter", RIG, "        if self._in_time and missed - self._missed > self.file.lab.missed:", "        if False:"),
    Defect("a late tick does not matter", RIG, "        if self._in_time and late > self.file.lab.lateness:", "        if False:"),
    Defect("a robot that is pushed away is not noticed", RIG, "            if found := self._watch.look(self._here, self._twist, self._course.last):", "            if found := 0:"),
    Defect("a Franka's command goes on where it was not", FCI, "                self._motion.resync(self.state)", "                pass", "dry-lab-franka"),
    Defect("a Franka's lost command counts as taken", FCI, "cycles == 1 and self._motion.was_taken(self.state)", "True", "dry-lab-franka"),
    Defect("a Franka's reflex is not noticed", FCI, "            return self._stopped(mode), False", "            return faults.NONE, False", "dry-lab-franka"),
    # The sensor
    Defect("a stale sample is used", NETFT, "            return faults.SENSOR_STALE", "            return faults.NONE"),
    Defect("a saturated sensor is used", NETFT, "            return faults.SENSOR_SATURATED", "            return faults.NONE"),
    Defect("a sensor's error is ignored", NETFT, "            return faults.SENSOR_STATUS", "            return faults.NONE"),
    Defect("a jump of the force is no fault", NETFT, "            return faults.SENSOR_JUMP", "            return faults.NONE"),
    # Recording
    Defect("the recorder drops its last chunk", "live/recorder.py", "        if waiting and (last or sum", "        if waiting and (sum"),
    Defect("the recorder leaves out every hundredth row", "live/recorder.py", "chunks.write(np.concatenate(waiting))", 'chunks.write((lambda rows: rows[rows["tick"] % 100 != 50])(np.concatenate(waiting)))'),
    Defect("a dead recorder is not noticed", "live/overseer.py", "        return faults.RECORDER if trouble and self._stops else faults.NONE", "        return faults.NONE"),
    Defect("a full disk ends the recorder", "live/recorder.py", "                except OSError as error:\n                    status.fail", "                except ZeroDivisionError as error:\n                    status.fail"),
    # Arming and closing
    Defect("set-points are sent before arming", RIG, "        code = robot.hold() or code if code != faults.ROBOT_SILENT else code", '        self._here["p"][0] += 1e-5\n            code = robot.send(self._here) or code'),
    Defect("two threads answer the robot", RIG, "        self._end.set()\n        if self._keeper is not None:\n            self._keeper.join()", "        pass"),
    Defect("nobody answers after a run", RIG, "        if self.state == STOPPED:\n            self._keep_ready()", "        if self.state == STOPPED:\n            self.state = READY"),
    Defect("the sensor is not released", RIG, "            self._sensor.stop()", "            pass"),
    Defect("the mailbox is left behind", "live/session.py", "        self.box.close()", "        pass"),
    Defect("the ring is left behind", "live/scribe.py", "        self.recorder.close()\n        self.ring.close()", "        self.recorder.close()"),
    # Two robots
    Defect("the other robot's fault is not noticed", "device/paired_rig.py", "        self._fault = self._partner.look()", "        self._partner.look()", "dry-lab-two"),
    Defect("the other robot does not hear the stop", "device/partner/process.py", 'return faults.REQUESTED if self._memory.row["stop"] else faults.NONE', "return faults.NONE", "dry-lab-two"),
)
# fmt: on

SEARCH = """
import sys
from hilt.lab.trials.run import run
from hilt.lab.trials.trial import labs
lab = labs()[sys.argv[1]]
for seed in range(int(sys.argv[2])):
    outcome = run(lab, seed)
    if outcome.wrong:
        print(f"{seed + 1}|{outcome.line}|{outcome.wrong[0].splitlines()[0][:160]}")
        break
else:
    print("not found||")
"""


def search(defect: Defect, most: int) -> tuple[Defect, str, str, str]:
    """Return the number of trials until it was found, the schedule, and what was wrong."""
    with tempfile.TemporaryDirectory(prefix="hilt-defect-") as folder:
        sources = Path(folder) / "src"
        shutil.copytree(SOURCES, sources, ignore=shutil.ignore_patterns("node_modules", "static", "__pycache__"))
        file = sources / "hilt" / defect.file
        text = file.read_text()
        if text.count(defect.old) < 1:
            return defect, "cannot be put in", "", f"{defect.file} has no {defect.old!r}"
        file.write_text(text.replace(defect.old, defect.new, 1))
        environment = {**os.environ, "PYTHONPATH": str(sources)}
        command = [sys.executable, "-c", SEARCH, defect.lab, str(most)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return defect, "1", "", f"it does not run at all: {done.stderr.strip().splitlines()[-1]}"
    number, line, wrong = done.stdout.strip().splitlines()[-1].split("|", 2)
    return defect, number, line, wrong


def main() -> int:
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("words", nargs="*", help="only defects with one of these words in their name")
    asks.add_argument("--most", type=int, default=1000, help="trials for each")
    asks.add_argument("--workers", type=int, default=os.cpu_count())
    given = asks.parse_args()
    chosen = [each for each in DEFECTS if not given.words or any(word in each.name for word in given.words)]
    missed = 0
    with ThreadPoolExecutor(given.workers) as pool:
        for defect, number, line, wrong in pool.map(lambda each: search(each, given.most), chosen):
            missed += not number.isdigit()
            print(f"{number:>10}  {defect.name} ({defect.lab})\n            {wrong}  [{line}]", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} were found")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
