"""The arm in a URDF file: the chain of joints from a base link to a tip, with the limits of each joint.

The file is untrusted. It is bounded, entities are refused, and of everything in it only the links and joints between base and
tip are used: meshes, other branches and inertias are never read. MuJoCo places these joints; it knows angle limits only, so
all limits are read here.

    axis, origin      of joint i in the axes of the base, at zero angles; the origin from that of joint i - 1
    tip_p, tip_q      of the tip, from the origin of the last joint, at zero angles
"""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import numpy as np

from hilt.core.faults import InputError, shortened
from hilt.core.guard import NEVER
from hilt.maths import so3
from hilt.maths.chain import MOST

SIZE_MAX = 1 << 20  # bytes; typical files have some ten thousand
PARTS_MAX = 1000  # links, and joints
TASK = 6  # joints that a pose needs
REACH = 100.0  # [m], of one link
FAST = 1e3  # [rad/s]
_MASS = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'


@dataclass(frozen=True)
class Kinematics:
    """An arm of six or seven revolute joints. SI, rad."""

    names: tuple[str, ...]
    axis: tuple[tuple[float, ...], ...]
    origin: tuple[tuple[float, ...], ...]
    tip_p: tuple[float, ...]
    tip_q: tuple[float, ...]
    lower: tuple[float, ...]
    upper: tuple[float, ...]
    speed: tuple[float, ...]

    @property
    def joints(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class _Joint:
    name: str
    parent: str
    child: str
    kind: str
    xyz: tuple[float, ...]
    rpy: tuple[float, ...]
    axis: tuple[float, ...]
    limit: dict[str, str]
    mimics: bool


def read(path: Path, base: str, tip: str) -> Kinematics:
    """Read the arm between two links of a file."""
    try:
        with path.open("rb") as file:
            data = file.read(SIZE_MAX + 1)
    except OSError as error:
        raise _unfit(path, f"cannot be read: {error.strerror}", "give the path of a URDF file") from None
    if len(data) > SIZE_MAX:
        raise _unfit(path, f"is larger than {SIZE_MAX >> 20} MiB", "give the arm alone, without meshes inside")
    return parse(data, path, base, tip)


def parse(data: bytes, path: Path, base: str, tip: str) -> Kinematics:
    """The same from the bytes of a file."""
    root, names = _tree(data, path)
    for key, name in (("base", base), ("tip", tip)):
        if name not in names:
            known = shortened(", ".join(names))
            raise InputError(
                f"joints.{key} is {shortened(name)!r}, but {path.name} has no such link; its links are {known}; choose one",
                f"joints.{key}",
            )
    aside, chain = _between(_joints(root, path), path, base, tip)
    for joint in chain:
        _check(joint, path)
    turning = [joint for joint in chain if joint.kind != "fixed"]
    if not TASK <= len(turning) <= MOST:
        raise _unfit(
            path, f"has {len(turning)} joints from {base} to {tip}; hilt needs {TASK} or {MOST}", "choose another base or tip"
        )
    limits = [_limits(joint, path) for joint in turning]
    lower, upper, speed = (tuple(each) for each in zip(*limits, strict=True))
    axis, origin, tip_p, tip_q = _placed(aside, chain, path)
    return Kinematics(tuple(joint.name for joint in turning), axis, origin, tip_p, tip_q, lower, upper, speed)


def _unfit(path: Path, what: str, advice: str) -> InputError:
    return InputError(f"joints.urdf is {shortened(path.name)}, which {what}; {advice}", "joints.urdf")


def _tree(data: bytes, path: Path) -> tuple[Element, list[str]]:
    """Return the root of the file and the names of its links."""
    # Entities can make a small file large; no URDF needs a document type.
    if b"<!DOCTYPE" in data or b"<!ENTITY" in data or b"\0" in data:
        raise _unfit(path, "declares a document type, entities or an encoding that URDF does not need", "remove them")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError, RecursionError) as error:
        raise _unfit(path, f"is not XML: {shortened(str(error))}", "give a URDF file") from None
    if root.tag != "robot":
        raise _unfit(path, f"begins with <{shortened(root.tag)}>, not with <robot>", "give a URDF file; expand xacro first")
    names = [link.get("name", "") for link in root.findall("link")]
    if max(len(names), len(root.findall("joint"))) > PARTS_MAX:
        raise _unfit(path, f"has more than {PARTS_MAX} links or joints", "give the arm alone")
    return root, names


def _joints(root: Element, path: Path) -> dict[str, _Joint]:
    """Return the joints by the links that they carry."""
    found: dict[str, _Joint] = {}
    for element in root.findall("joint"):
        name, origin, axis, limit = element.get("name", ""), *(element.find(tag) for tag in ("origin", "axis", "limit"))
        parent, child = (_link(element, tag) for tag in ("parent", "child"))
        where = f"joint {shortened(name)!r}"
        if child in found:
            raise _unfit(path, f"has two joints that carry {shortened(child)!r}", "remove one")
        found[child] = _Joint(
            name,
            parent,
            child,
            element.get("type", ""),
            _three(origin, "xyz", "0 0 0", where, path),
            _three(origin, "rpy", "0 0 0", where, path),
            _three(axis, "xyz", "1 0 0", where, path),
            {} if limit is None else dict(limit.attrib),
            element.find("mimic") is not None,
        )
    return found


def _link(joint: Element, tag: str) -> str:
    found = joint.find(tag)
    return "" if found is None else found.get("link", "")


def _three(element: Element | None, key: str, default: str, where: str, path: Path) -> tuple[float, ...]:
    text = default if element is None else element.get(key, default)
    try:
        numbers = tuple(float(part) for part in text.split())
    except ValueError:
        numbers = ()
    if len(numbers) != 3 or not all(abs(number) <= REACH for number in numbers):
        raise _unfit(path, f"says {key} = {shortened(text)!r} for {where}", f"give three numbers within ±{REACH:g}")
    return numbers


def _between(joints: dict[str, _Joint], path: Path, base: str, tip: str) -> tuple[list[_Joint], list[_Joint]]:
    """Return the fixed joints to the base and the joints to the tip, both from the link where they branch: a base may be a
    frame beside the arm."""
    aside: list[_Joint] = []
    places = {base: 0}  # links that do not move relative to the base, and the joints in between
    while (joint := joints.get(aside[-1].parent if aside else base)) and joint.kind == "fixed" and joint.parent not in places:
        aside.append(joint)
        places[joint.parent] = len(aside)
    chain: list[_Joint] = []
    link = tip
    while link not in places:
        step = joints.get(link)
        if step is None or len(chain) > PARTS_MAX:
            raise _unfit(path, f"does not join {shortened(tip)!r} to {shortened(base)!r}", "choose another base or tip")
        chain.append(step)
        link = step.parent
    return aside[: places[link]][::-1], chain[::-1]


def _check(joint: _Joint, path: Path) -> None:
    where = f"joint {shortened(joint.name)!r}"
    if joint.kind not in ("revolute", "continuous", "fixed"):
        kind = shortened(joint.kind) or "without a type"
        raise _unfit(path, f"has a {where} in the chain that is {kind}", "hilt needs arms with revolute joints only")
    if joint.mimics:
        raise _unfit(path, f"lets {where} mimic another one", "choose a tip before it")
    if joint.kind != "fixed" and not any(joint.axis):
        raise _unfit(path, f"gives {where} an axis of length 0", "give a direction")


def _limits(joint: _Joint, path: Path) -> tuple[float, float, float]:
    """Return the lowest and highest angle [rad], and the largest speed [rad/s]."""
    where = f"joint {shortened(joint.name)!r}"

    def number(key: str) -> float:
        try:
            value = float(joint.limit.get(key, "nan"))
        except ValueError:
            value = math.nan
        return value

    lower, upper = (-NEVER, NEVER) if joint.kind == "continuous" else (number("lower"), number("upper"))
    if not lower < upper or (joint.kind == "revolute" and not max(abs(lower), abs(upper)) <= REACH):
        raise _unfit(path, f"allows {where} angles from {lower:g} to {upper:g} rad", "give its limits: lower below upper")
    speed = number("velocity")
    if not 0.0 < speed <= FAST:
        raise _unfit(path, f"gives {where} a speed limit of {speed:g} rad/s", f"give one above 0, up to {FAST:g} rad/s")
    return lower, upper, speed


def _branch(name: str, joints: list[_Joint]) -> str:
    """Write a chain of joints as URDF again: only what is needed, under our own names."""
    text, before = "", "root"
    for k, joint in enumerate(joints, 1):
        xyz, rpy, axis = (" ".join(map(repr, each)) for each in (joint.xyz, joint.rpy, joint.axis))
        kind, link = "fixed" if joint.kind == "fixed" else "continuous", f"{name}{k}"
        text += f'<link name="{link}">{_MASS}</link><joint name="to_{link}" type="{kind}"><parent link="{before}"/>'
        text += f'<child link="{link}"/><origin xyz="{xyz}" rpy="{rpy}"/><axis xyz="{axis}"/></joint>'
        before = link
    return text


def _placed(aside: list[_Joint], chain: list[_Joint], path: Path) -> tuple[Any, ...]:
    """Let MuJoCo place the turning joints (axes and origins) and the tip, at zero angles, in the axes of the base."""
    import mujoco  # slow to load, and only rigs with joints need it

    text = '<robot name="arm"><mujoco><compiler fusestatic="false"/></mujoco><link name="root"/>'
    text += _branch("base", aside) + _branch("chain", chain)
    try:
        model = mujoco.MjModel.from_xml_string(text + "</robot>")
    except ValueError as error:
        raise _unfit(path, f"cannot be used: {shortened(str(error))}", "check its joints") from None
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    base, tip = (model.body(f"{name}{len(each)}" if each else "root").id for name, each in (("base", aside), ("chain", chain)))
    turn = tuple(map(float, data.xquat[base]))

    def seen(vector: Any) -> tuple[float, ...]:
        return tuple(so3.rotate_back(turn, tuple(map(float, vector))))

    origins = np.diff(np.vstack([data.xpos[base], data.xanchor]), axis=0)
    return (
        tuple(map(seen, data.xaxis)),
        tuple(map(seen, origins)),
        seen(data.xpos[tip] - data.xanchor[-1]),
        tuple(so3.multiply(so3.inverse(turn), tuple(map(float, data.xquat[tip])))),
    )
