"""ROS 2 over Zenoh, by the conventions of rmw_zenoh: keys, tokens of the graph, and the attachment of a message.

    key      <domain>/<topic>/<type>/<hash>
    token    @ros2_lv/<domain>/<session>/<node>/<entity>/<kind>/<enclave>/<namespace>/<its name>[/<topic>/<type>/<hash>/<qos>]
    attached sequence number, time of sending [ns], and the sender's 16-byte identity

In tokens a slash in a name is written as %.
"""

import os
import struct
from dataclasses import dataclass

from hilt.core.faults import InputError
from hilt.record import rosmsg
from hilt.record.rosmsg import Types

PUBLISHER, SUBSCRIPTION = "MP", "MS"
_NODE = "NN"
_QOS = "::,10:,:,:,,"  # the defaults of ROS 2: reliable, volatile, the last 10
_ATTACHED = struct.Struct("<qqB16s")
_HIGHEST_DOMAIN = 232


def domain() -> int:
    """Return ROS_DOMAIN_ID, as for every node of ROS 2."""
    text = os.environ.get("ROS_DOMAIN_ID", "") or "0"
    if not text.isdecimal() or int(text) > _HIGHEST_DOMAIN:
        raise InputError(f"ROS_DOMAIN_ID is {text!r}; it must be 0 to {_HIGHEST_DOMAIN}; set it as for the nodes of ROS 2")
    return int(text)


@dataclass(frozen=True)
class Endpoint:
    """A topic and its type, as the graph of ROS 2 knows it."""

    domain: int
    topic: str
    type: str
    types: Types

    @property
    def _of_type(self) -> str:
        return f"{rosmsg.dds_name(self.type)}/{rosmsg.type_hash(self.type, self.types)}"

    @property
    def key(self) -> str:
        return f"{self.domain}/{self.topic.strip('/')}/{self._of_type}"

    def token(self, node: "Node", entity: int, kind: str) -> str:
        return f"{node.begin(entity, kind)}/{_mangled(self.topic)}/{self._of_type}/{_QOS}"


@dataclass(frozen=True)
class Node:
    """A node of ROS 2 in a session of Zenoh."""

    domain: int
    session: str
    name: str

    def begin(self, entity: int, kind: str) -> str:
        return f"@ros2_lv/{self.domain}/{self.session}/0/{entity}/{kind}/%/%/{self.name}"

    @property
    def token(self) -> str:
        return self.begin(0, _NODE)


def _mangled(name: str) -> str:
    return name.replace("/", "%")


def attached(number: int, nanoseconds: int, identity: bytes) -> bytes:
    return _ATTACHED.pack(number, nanoseconds, len(identity), identity)
