"""A child process for tests of both machines: it does what the words of its command line say, one after the other."""

import signal
import sys

from hilt.core import clock
from hilt.host import machine
from hilt.host.shared import Segment


def main(*words: str) -> None:
    kept = []
    for word in words:
        what, _, value = word.partition("=")
        if what == "say":
            machine.say(value)
        elif what == "echo":
            while line := machine.input_line():
                machine.say(line.strip())
        elif what == "line":
            machine.say(machine.input_line(float(value)).strip() or "nothing")
        elif what == "pid":
            machine.say(str(machine.pid()))
        elif what == "handle":
            machine.handle(signal.SIGTERM, lambda *_: machine.say("SIGTERM"))
        elif what == "leave":
            machine.handle(signal.SIGTERM, lambda *_: sys.exit(4))
        elif what == "sleep":
            clock.pause(float(value))
        elif what == "for-ever":
            machine.event().wait()
        elif what == "count":
            for number in range(10**9):
                machine.say(str(number))
                clock.pause(0.005)
        elif what == "exit":
            sys.exit(int(value))
        elif what == "fail":
            raise SystemExit(value)
        elif what == "at-exit":
            machine.at_exit(lambda: machine.say("at exit"))
        elif what == "name":
            kept.append(Segment.create(value, 64))
            kept[-1].publish()
        elif what == "claim":
            kept.append(Segment.join(value, 8))
            machine.say(str(kept[-1].claim(1)))
        elif what == "quiet":
            machine.say_no_more()


if __name__ == "__main__":
    main(*sys.argv[1:])
