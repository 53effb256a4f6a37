"""A subscriber of ROS 2 that knows nothing of hilt: run by the Python of the peers, with `zenoh_ros2_sdk`.

Its input is a line of JSON: the router's port, and topics with their types and definitions. It computes the hashes of the
types itself, so that it receives only topics with the same ones; says "ready"; publishes what further lines say; and when its
input ends it writes what it has received.
"""

import json
import os
import sys
import time
from collections import defaultdict

from zenoh_ros2_sdk import ROS2Publisher, ROS2Subscriber
from zenoh_ros2_sdk.discovery import get_topic_names_and_types
from zenoh_ros2_sdk.utils import get_type_hash

LINE = "=" * 80


def split(definition, name):
    """A definition and those in it, by their names."""
    first, *others = definition.split(LINE + "\n")
    found = {}
    for part in others:
        head, _, text = part.partition("\n")
        package, kind = head.removeprefix("MSG: ").split("/")
        found[f"{package}/msg/{kind}"] = text
    return first, found


def plain(value):
    if hasattr(value, "__dataclass_fields__"):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__ if not name.startswith("__")}
    if hasattr(value, "tolist"):
        return value.tolist()
    return [plain(each) for each in value] if isinstance(value, list) else value


def main():
    asked = json.loads(sys.stdin.readline())
    heard, hashes, kept = defaultdict(list), {}, []
    for topic in asked["topics"]:
        own, others = split(topic["definition"], topic["type"])
        hashes[topic["type"]] = get_type_hash(topic["type"], own, others)
        kept.append(
            ROS2Subscriber(
                topic["name"],
                topic["type"],
                (lambda name: lambda message: heard[name].append(plain(message)))(topic["name"]),
                msg_definition=topic["definition"],
                type_hash=hashes[topic["type"]],
                router_port=asked["port"],
            )
        )
    wanted, end = {topic["name"] for topic in asked["topics"]}, time.monotonic() + 20.0
    listed = {}
    while not wanted <= set(listed) and time.monotonic() < end:
        listed = dict(get_topic_names_and_types(router_port=asked["port"], timeout=2.0))
    print("ready", flush=True)
    publishers = {}
    for line in sys.stdin:  # what it is to wait for, or to publish
        order = json.loads(line)
        if "count" in order:
            end = time.monotonic() + 60.0
            while len(heard[order["name"]]) < order["count"] and time.monotonic() < end:
                time.sleep(0.01)
            print("waited", flush=True)
            continue
        name, kind = order["name"], order["type"]
        if name not in publishers:
            own, others = split(order["definition"], kind)
            publishers[name] = ROS2Publisher(
                name, kind, order["definition"], router_port=asked["port"], type_hash=get_type_hash(kind, own, others)
            )
        session = publishers[name].session_mgr
        publishers[name].publish(**{key: made(session.store, value) for key, value in order["content"].items()})
        print("published", flush=True)
    for each in kept:  # nothing is decoded any more
        each.close()
    print(json.dumps({"heard": heard, "hashes": hashes, "listed": listed}), flush=True)
    os._exit(0)  # the threads of its session would keep it alive


def made(store, value):
    """{"type": …, "fields": …} as an object of that type."""
    if not isinstance(value, dict):
        return value
    return store.types[value["type"]](**{name: made(store, inner) for name, inner in value["fields"].items()})


main()
