"""Where streams go: `foxglove,ros2`, each with an address if it is not the default one, `foxglove@0.0.0.0:8765`.

Only programs on this machine can connect unless another address is given.
"""

import ipaddress
from dataclasses import dataclass

from hilt.core.faults import InputError

LOOPBACK = "127.0.0.1"
PORTS = {"foxglove": 8765, "ros2": 7447}  # of Foxglove's viewers, and of the router of rmw_zenoh


@dataclass(frozen=True)
class Place:
    """A stream and its address: where Foxglove's viewers connect, or where the router of ROS 2 is."""

    kind: str
    host: str
    port: int

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def places(text: str, option: str, kinds: tuple[str, ...] = tuple(PORTS)) -> list[Place]:
    """Parse the places of a command-line option."""
    found = [_place(part.strip(), option, kinds) for part in text.split(",")]
    if len({place.kind for place in found}) < len(found):
        raise InputError(f"{option} is {text!r}, which names a stream twice; name each once")
    return found


def _place(text: str, option: str, kinds: tuple[str, ...]) -> Place:
    kind, _, address = text.partition("@")
    if kind not in kinds:
        raise InputError(f"{option} is {text!r}; known are {', '.join(kinds)}; write for example {option} {kinds[0]}")
    example = f"write for example {kind}@{LOOPBACK}:{PORTS[kind]}"
    try:
        host, port = _split(address or LOOPBACK)
        host = str(ipaddress.ip_address(LOOPBACK if host == "localhost" else host))
        number = int(port) if port else PORTS[kind]
    except ValueError:
        raise InputError(
            f"{option} has the address {address!r}; it must be an IP address, with or without a port; {example}"
        ) from None
    if not 0 < number < 65536:
        raise InputError(f"{option} has the port {number}; it must be 1 to 65535; {example}")
    return Place(kind, host, number)


def _split(address: str) -> tuple[str, str]:
    """Split into address and port; an IPv6 address is in brackets if a port follows."""
    if address.startswith("["):
        host, _, port = address[1:].partition("]")
        return host, port.removeprefix(":")
    host, _, port = address.partition(":") if address.count(":") == 1 else (address, "", "")
    return host, port
