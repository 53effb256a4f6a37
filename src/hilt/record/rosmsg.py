"""ROS 2 message types: their fields, their definition as text, and their hash, all from one table so that they always agree.

The hash (RIHS01, REP 2016) is computed from the fields: SHA-256 of the JSON of the type description and of all types that it
refers to.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

Fields = tuple[tuple[str, str], ...]  # name and type: float64, float64[3], string[], or the full name of another message
Types = Mapping[str, Fields]

TIME, HEADER = "builtin_interfaces/msg/Time", "std_msgs/msg/Header"
VECTOR, QUATERNION = "geometry_msgs/msg/Vector3", "geometry_msgs/msg/Quaternion"
POSE_STAMPED, TWIST_STAMPED = "geometry_msgs/msg/PoseStamped", "geometry_msgs/msg/TwistStamped"
WRENCH_STAMPED, TRANSFORM_STAMPED = "geometry_msgs/msg/WrenchStamped", "geometry_msgs/msg/TransformStamped"
TF_MESSAGE, JOINT_STATE = "tf2_msgs/msg/TFMessage", "sensor_msgs/msg/JointState"
FLOAT, STRING = "std_msgs/msg/Float64", "std_msgs/msg/String"
_XYZ: Fields = (("x", "float64"), ("y", "float64"), ("z", "float64"))

STANDARD: Types = {
    TIME: (("sec", "int32"), ("nanosec", "uint32")),
    HEADER: (("stamp", TIME), ("frame_id", "string")),
    VECTOR: _XYZ,
    "geometry_msgs/msg/Point": _XYZ,
    QUATERNION: (*_XYZ, ("w", "float64")),
    "geometry_msgs/msg/Pose": (("position", "geometry_msgs/msg/Point"), ("orientation", QUATERNION)),
    "geometry_msgs/msg/Twist": (("linear", VECTOR), ("angular", VECTOR)),
    "geometry_msgs/msg/Wrench": (("force", VECTOR), ("torque", VECTOR)),
    "geometry_msgs/msg/Transform": (("translation", VECTOR), ("rotation", QUATERNION)),
    POSE_STAMPED: (("header", HEADER), ("pose", "geometry_msgs/msg/Pose")),
    TWIST_STAMPED: (("header", HEADER), ("twist", "geometry_msgs/msg/Twist")),
    WRENCH_STAMPED: (("header", HEADER), ("wrench", "geometry_msgs/msg/Wrench")),
    TRANSFORM_STAMPED: (("header", HEADER), ("child_frame_id", "string"), ("transform", "geometry_msgs/msg/Transform")),
    TF_MESSAGE: (("transforms", f"{TRANSFORM_STAMPED}[]"),),
    JOINT_STATE: (
        ("header", HEADER),
        ("name", "string[]"),
        ("position", "float64[]"),
        ("velocity", "float64[]"),
        ("effort", "float64[]"),
    ),
    FLOAT: (("data", "float64"),),
    STRING: (("data", "string"),),
}

_NUMBERS = {"f8": "float64", "i8": "int64", "u8": "uint64"}
_TYPE = re.compile(r"(?P<base>[A-Za-z0-9_/]+)(?P<array>\[(?P<size>\d*)\])?")
# Of type_description_interfaces/msg/FieldType.
_IDS = {"int32": 6, "uint32": 7, "int64": 8, "uint64": 9, "float64": 11, "string": 17}
_NESTED, _ARRAY, _SEQUENCE = 1, 48, 144


def row_type_name(system: str) -> str:
    return f"hilt_msgs/msg/{system.capitalize()}"


def row_types(system: str, row: np.dtype) -> Types:
    """A row as a ROS 2 message, and the messages in it; names in lower case, as ROS 2 requires."""
    parts: dict[str, Fields] = {}
    fields = _fields(row, parts)
    return {row_type_name(system): fields, **parts}


def _fields(dtype: np.dtype, parts: dict[str, Fields]) -> Fields:
    found = []
    for name in dtype.names or ():
        base, shape = dtype[name].subdtype or (dtype[name], ())
        if base.names:
            kind = "hilt_msgs/msg/" + "".join(part.capitalize() for part in base.names)
            parts[kind] = _fields(base, parts)
        else:
            kind = _NUMBERS[base.str[1:]]
        found.append((name.lower(), kind + (f"[{int(np.prod(shape))}]" if shape else "")))
    return tuple(found)


def _parsed(kind: str) -> tuple[str, str | None]:
    """The type without its brackets, and the text between them; None without brackets."""
    found = _TYPE.fullmatch(kind)
    assert found is not None
    return found["base"], found["size"]


def _within(name: str, types: Types) -> list[str]:
    """All messages contained in a message, each once, in order of appearance."""
    met: dict[str, None] = {}
    waiting = [name]
    while waiting:
        inner = [base for _, kind in types[waiting.pop(0)] if (base := _parsed(kind)[0]) in types]
        waiting += [each for each in inner if each not in met]
        met.update(dict.fromkeys(inner))
    return list(met)


def definition(name: str, types: Types = STANDARD) -> str:
    """The definition of a message and of all messages in it, as in the `ros2msg` schema of a recording."""
    lines = _lines(types[name])
    for inner in _within(name, types):
        lines += ["=" * 80, f"MSG: {_short(inner)}", *_lines(types[inner])]
    return "\n".join(lines) + "\n"


def _short(name: str) -> str:
    return name.replace("/msg/", "/")


def _lines(fields: Fields) -> list[str]:
    return [f"{_short(kind)} {name}" for name, kind in fields]


def type_hash(name: str, types: Types = STANDARD) -> str:
    """RIHS01 of a message."""
    referred = [_description(inner, types) for inner in sorted(_within(name, types))]
    tree = {"type_description": _description(name, types), "referenced_type_descriptions": referred}
    return "RIHS01_" + hashlib.sha256(json.dumps(tree, separators=(", ", ": ")).encode()).hexdigest()


def _description(name: str, types: Types) -> dict[str, Any]:
    return {"type_name": name, "fields": [{"name": field, "type": _field_type(kind)} for field, kind in types[name]]}


def _field_type(kind: str) -> dict[str, Any]:
    base, size = _parsed(kind)
    number = _IDS.get(base, _NESTED) + (0 if size is None else _ARRAY if size else _SEQUENCE)
    nested = "" if base in _IDS else base
    return {"type_id": number, "capacity": int(size or 0), "string_capacity": 0, "nested_type_name": nested}


def dds_name(name: str) -> str:
    """The name of a message in DDS and rmw_zenoh: `geometry_msgs::msg::dds_::PoseStamped_`."""
    package, _, kind = name.partition("/msg/")
    return f"{package}::msg::dds_::{kind}_"
