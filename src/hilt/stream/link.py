"""A Zenoh session like that of an rmw_zenoh node: connected to a router, and to nothing that was not named.

The router of ROS 2 (`ros2 run rmw_zenoh_cpp rmw_zenohd`) listens at 127.0.0.1:7447. If none is running, hilt itself listens
there and routes: ROS 2 finds it at the same address, and hilt needs no ROS installation.
"""

import itertools
import json
import os
import socket
from typing import Any

from hilt.core import clock
from hilt.core.faults import InputError
from hilt.stream import rmw
from hilt.stream.places import LOOPBACK, Place
from hilt.stream.rmw import Endpoint, Node

KNOCK = 1.0  # s for a router to answer
BATCHES = 16  # of 64 kB, per connection
WAIT = 250_000  # µs for one of them to become free; then messages are dropped at once until the connection recovers


def _zenoh() -> Any:
    try:
        import zenoh
    except ImportError:
        raise InputError(
            "ROS 2 needs the package eclipse-zenoh, which is not installed; run: pip install 'hilt[ros2]'"
        ) from None
    return zenoh


def _answers(place: Place) -> bool:
    try:
        socket.create_connection((place.host, place.port), KNOCK).close()
    except OSError:
        return False
    return True


class Link:
    """A node of ROS 2: `publisher` and `subscriber` declare topics, which `ros2 topic list` then shows."""

    def __init__(self, place: Place, name: str) -> None:
        self._zenoh = _zenoh()
        self.domain = rmw.domain()
        self.routes = not _answers(place)
        try:
            self._session = self._zenoh.open(self._config(place))
        except self._zenoh.ZError as error:
            raise InputError(
                f"ROS 2 cannot be reached at {place.address}: {str(error).splitlines()[0]}; "
                f"start its router there (ros2 run rmw_zenoh_cpp rmw_zenohd), or name another: ros2@{LOOPBACK}:7447"
            ) from None
        self._node = Node(self.domain, str(self._session.zid()), name)
        self._entities = itertools.count(1)
        # Declarations last as long as their objects.
        self._kept: list[Any] = [self._session.liveliness().declare_token(self._node.token)]

    def _config(self, place: Place) -> Any:
        config = self._zenoh.Config()
        there = f"tcp/{place.address}"
        for key, value in {
            "mode": "router" if self.routes else "peer",
            "listen/endpoints": [there if self.routes else f"tcp/{LOOPBACK}:0"],
            "connect/endpoints": [] if self.routes else [there],
            "scouting/multicast/enabled": False,  # no search in the network
            "transport/link/tx/queue/size/data": BATCHES,
            "transport/link/tx/queue/congestion_control/drop/wait_before_drop": WAIT,
        }.items():
            config.insert_json5(key, json.dumps(value))
        return config

    def _declare(self, endpoint: Endpoint, kind: str) -> None:
        token = endpoint.token(self._node, next(self._entities), kind)
        self._kept.append(self._session.liveliness().declare_token(token))

    def publisher(self, endpoint: Endpoint) -> "Publisher":
        found = Publisher(self._session.declare_publisher(endpoint.key, congestion_control=self._zenoh.CongestionControl.DROP))
        self._declare(endpoint, rmw.PUBLISHER)
        return found

    def subscriber(self, endpoint: Endpoint, hear: Any) -> None:
        """Subscribe to a topic: `hear(bytes)` is called for each message, in one of Zenoh's threads."""
        self._kept.append(self._session.declare_subscriber(endpoint.key, lambda sample: hear(sample.payload.to_bytes())))
        self._declare(endpoint, rmw.SUBSCRIPTION)

    def close(self) -> None:
        self._session.close()


class Publisher:
    """Publishes the messages of one topic, numbered: a subscriber sees from the numbers which ones were lost."""

    def __init__(self, publisher: Any) -> None:
        self._publisher, self._identity, self.count = publisher, os.urandom(16), 0

    def put(self, data: bytes) -> None:
        """Publish without waiting: a subscriber that does not keep up loses the message."""
        self.count += 1
        self._publisher.put(data, attachment=rmw.attached(self.count, clock.wall_nanoseconds(), self._identity))
