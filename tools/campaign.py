"""Trials of the emulated labs by the thousand, in virtual time; see CONTRIBUTING.md.

python tools/campaign.py --trials 10000                     all labs; goes on where it was interrupted
python tools/campaign.py --lab dry-lab-ur --from 500 --trials 200 --out build/ur.txt
python tools/campaign.py --again "dry-lab 17: cable robot 1.6 0.2"        one trial, as a campaign has printed it
"""

import argparse
import os
import sys
import time
from contextlib import suppress
from pathlib import Path

from hilt.lab.trials import campaign
from hilt.lab.trials.run import run
from hilt.lab.trials.schedule import read, written
from hilt.lab.trials.trial import labs

OUT = Path("build/campaign.txt")


def again(line: str) -> int:
    """Run one trial again and say what is wrong."""
    name, _, rest = line.partition(" ")
    seed, colon, faults = rest.partition(":")
    outcome = run(labs()[name], int(seed), read(faults) if colon else None)
    print(outcome.line)
    for end, sentence in zip(outcome.ends, outcome.sentences, strict=True):
        print(f"  {end}  {sentence}")
    for sentence in outcome.wrong:
        print(f"  WRONG: {sentence}")
    return bool(outcome.wrong)


def main() -> int:
    asks = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asks.add_argument("--trials", type=int, default=1000, help="over all labs")
    asks.add_argument("--from", type=int, default=0, dest="first", help="first seed")
    asks.add_argument("--lab", action="append", choices=sorted(labs()), help="one lab; may be repeated")
    asks.add_argument("--out", type=Path, default=OUT, help="file with a line a trial")
    asks.add_argument("--workers", type=int, help="processes; one for each core")
    asks.add_argument("--again", metavar="LINE", help="run one trial again")
    given = asks.parse_args()
    if given.again:
        return again(given.again)
    names = given.lab or sorted(labs())
    seeds = range(given.first, given.first + -(-given.trials // len(names)))
    with suppress(OSError):  # its workers inherit it
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    begin, count, found = time.monotonic(), 0, []
    try:
        for line in campaign.run(names, seeds, given.out, given.workers):
            count += 1
            if line.wrong:
                found.append(line)
                print(f"\r{line}")
            rate = count / (time.monotonic() - begin)
            print(f"\r{count} of {len(seeds) * len(names)} trials, {rate:.2f}/s, {len(found)} wrong ", end="", flush=True)
    except KeyboardInterrupt:
        print(f"\ninterrupted; the same command goes on from {given.out}")
    print()
    for line in found[:5]:
        less = campaign.smaller(line.lab, line.seed, read(line.faults))
        print(f'smaller: python tools/campaign.py --again "{line.lab} {line.seed}: {written(less)}"')
    print(campaign.table(campaign.lines_of(given.out)))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
