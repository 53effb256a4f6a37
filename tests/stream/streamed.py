"""Sessions that stream, for the tests: in this process, with their streams as children."""

import socket
from contextlib import contextmanager

from hilt import job
from hilt.live.session import Session
from hilt.stream.places import LOOPBACK, Place
from hilt.stream.streams import Wanted, streaming


def free_port():
    with socket.socket() as found:
        found.bind((LOOPBACK, 0))
        return found.getsockname()[1]


def place(kind):
    return Place(kind, LOOPBACK, free_port())


@contextmanager
def streamed(folder, system, scenario, settings, wanted, rig=None):
    """An open session and the sentences of its streams, which get longer until its end."""
    said = []
    session = Session(*job.find(system, scenario, [*(rig.settings(system) if rig else ()), *settings]), folder, rig)
    try:
        with streaming(session.box.name, wanted, said.append):
            session.open()
            yield session, said
            session.close()
    finally:
        session.close()


def wanted(*out, **rest):
    return Wanted(tuple(out), **rest)
