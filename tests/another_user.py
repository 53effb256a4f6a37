"""Act as another user on the same machine, for tests: a process that has dropped its privileges."""

import os
import pickle
import select
import signal
import traceback

US, STRANGER = 12345, 12346


def call(user, function, *arguments, seconds=30.0, **environment):
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
