"""Act as another user on the same machine, for tests: a process that has dropped its privileges."""

import os
import pickle
import select
import signal
import traceback
from pathlib import Path

from tests.patience import HUNG

_ROOM = int(Path("/proc/self/uid_map").read_text().split()[2])  # users of this machine
US = 10_000 + 2 * os.getpid() % (_ROOM - 20_000 & ~1)  # of this process alone: other runs of these tests have other users
STRANGER = US + 1


def call(user, function, *arguments, seconds=HUNG, **environment):
    """What a function returns when this user calls it, without a home and without root privileges; its error otherwise."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.environ.clear()
            os.environ.update(PATH="/usr/bin:/bin", HOME="/nonexistent", **environment)
            os.setgroups([])
            os.setresgid(user, user, user)
            os.setresuid(user, user, user)
            answer = (True, function(*arguments))
        except BaseException:
            answer = (False, traceback.format_exc())
        os.write(theirs, pickle.dumps(answer))
        os._exit(0)
    os.close(theirs)
    try:
        if not select.select([ours], [], [], seconds)[0]:
            os.kill(child, signal.SIGKILL)
            raise AssertionError(f"{function.__name__} hangs: no answer within {seconds:g} s")
        fine, value = pickle.loads(os.read(ours, 1 << 16))
    finally:
        os.close(ours)
        os.waitpid(child, 0)
    assert fine, value
    return value
