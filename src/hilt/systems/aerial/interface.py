"""The communication interface between hardware and simulation: wrenches one way, motion the other.

    F_h_H ──► link ──► h_e = Ad⁻ᵀ h_h: F_E_N, F_E_b        the human's wrench on the simulated tool, about its own origin
    e_p' = R_HN e_p, X_HB_rest ◄── link ◄── e_p_N, plan    what the hardware has to show                [Cuniato2022, eq. 5]

The user chooses where the hardware's base H is in the simulated world N. The wrench acts at the simulated tool's origin as
it acts at the real one, so it is only rotated between the frames: the tools differ by what one side shows late or not at
all, and a lever of that length would be an artefact.

The hardware's tool rests where the simulated one would be with the base exactly on its plan,

    X_HB_rest = X_HN · X_Nb_planned · X_bE_des · X_EB        X_EB: rotation between the tools' frames

or, without `show_flight`, at the start of its plan. When nothing has arrived for longer than the link explains, the wrench
fades out; the displacement and the rest pose are held.
"""

import math
from dataclasses import dataclass

import numpy as np
from pydantic import Field

from hilt.compiled import jit
from hilt.core.scenario import Section
from hilt.core.signals import POSE, record
from hilt.core.stage import Cycle, StageKind
from hilt.core.units import Metre3, Quaternion
from hilt.maths import channel, once, so3, spatial, vec
from hilt.plant.link import Link

SILENCE = 0.1  # s without news, beyond delay and jitter, after which the wrench fades
FADE = 0.2  # s to fade out, and to fade in again

UP_NUMBERS = 6  # f, τ
E_P, REST_P, REST_Q, DOWN_NUMBERS = 0, 3, 6, 10

Pose = tuple[tuple[float, float, float], tuple[float, float, float, float]]


class Frames(Section):
    """Pose of the hardware in the simulated world, and how much of the flight it shows."""

    position: Metre3 | None = Field(
        default=None, description="of the hardware's base in N; if left out, both tools start at the same position"
    )
    attitude: Quaternion = Field(
        default=(1.0, 0.0, 0.0, 0.0),
        description="of the hardware's base in N, w x y z; if tilted, weights pull in a tilted direction",
    )
    show_flight: bool = Field(default=False, description="show the planned motion of the base too, not only its displacement")

    def hardware_in_world(self, p_HB: Metre3, p_NE: Metre3) -> Pose:
        """X_NH from the start positions of both tools."""
        if self.position is not None:
            return self.position, self.attitude
        return once.vec.sub(p_NE, once.so3.rotate(self.attitude, p_HB)), self.attitude

    def start_in_hardware(self, p_HB: Metre3, p_NE: Metre3) -> Metre3:
        """Start of the hardware's tool: at p_HB, or where the simulated tool is as seen from the chosen base."""
        place: Metre3 = once.spatial.place(once.spatial.inverse(self.hardware_in_world(p_HB, p_NE)), p_NE)
        return p_HB if self.position is None else place


@jit
def _carry_wrench(sig, x, p, dt):
    """Carry force and torque from the hardware to the simulation, as they have arrived."""
    packet = channel.packet(x.up, sig.tick)
    vec.store(packet[0:3], vec.load(sig.F_h_H.f))
    vec.store(packet[3:6], vec.load(sig.F_h_H.tau))
    channel.send(x.up, p.up, sig.tick, sig.t, dt)
    channel.receive(x.up, sig.tick, dt)
    silent = channel.age(x.up, sig.t, dt) > p.patience
    x.share = max(x.share - dt / FADE, 0.0) if silent else min(x.share + dt / FADE, 1.0)
    if x.up.newest < 0:
        return (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    packet = channel.newest(x.up)
    return vec.scale(x.share, vec.load(packet[0:3])), vec.scale(x.share, vec.load(packet[3:6]))


@jit
def _apply_wrench(sig, p, f_H, tau_H):
    """Write h_e, the wrench at the simulated tool's origin, in N and in b."""
    f, tau = spatial.express(so3.load(p.X_NH.q), f_H, tau_H)
    vec.store(sig.F_E_N.f, f)
    vec.store(sig.F_E_N.tau, tau)
    felt = vec.add(f, vec.load(sig.push_N))  # a push of the scenario is included
    f, tau = spatial.express(so3.inverse(so3.load(sig.X_Nb_meas.q)), felt, tau)
    vec.store(sig.F_E_b.f, f)
    vec.store(sig.F_E_b.tau, tau)


@jit
def _rest_pose(sig, x, p):
    """X_HB_rest as the simulation knows it."""
    X_Nb = spatial.load(p.X_Nb_start)
    if p.show_flight and x.started:  # the first plan is made after the interface's first tick
        half = 0.5 * sig.yaw_bd
        X_Nb = vec.load(sig.p_bd_N), (math.cos(half), 0.0, 0.0, math.sin(half))
    X_NB = spatial.compose(X_Nb, spatial.compose(spatial.load(sig.X_bE_des), ((0.0, 0.0, 0.0), so3.load(p.q_EB))))
    return spatial.compose(spatial.inverse(spatial.load(p.X_NH)), X_NB)


@jit
def _carry_motion(sig, x, p, dt):
    """Carry displacement and rest pose from the simulation to the hardware; the last ones are kept until new ones arrive."""
    packet = channel.packet(x.down, sig.tick)
    rest = _rest_pose(sig, x, p)
    vec.store(packet[E_P:REST_P], so3.rotate_back(so3.load(p.X_NH.q), vec.load(sig.e_p_N)))  # [Cuniato2022, eq. 5], e_p'
    vec.store(packet[REST_P:REST_Q], rest[0])
    so3.store(packet[REST_Q:DOWN_NUMBERS], rest[1])
    channel.send(x.down, p.down, sig.tick, sig.t, dt)
    channel.receive(x.down, sig.tick, dt)
    if x.down.newest >= 0:
        packet = channel.newest(x.down)
        vec.store(sig.e_p_H, vec.load(packet[E_P:REST_P]))
        vec.store(sig.X_HB_rest.p, vec.load(packet[REST_P:REST_Q]))
        so3.store(sig.X_HB_rest.q, so3.load(packet[REST_Q:DOWN_NUMBERS]))


@jit
def interface_step(sig, x, p, dt):
    f, tau = _carry_wrench(sig, x, p, dt)
    _apply_wrench(sig, p, f, tau)
    _carry_motion(sig, x, p, dt)
    x.started = 1
    sig.wrench_share, sig.wrench_age = x.share, channel.age(x.up, sig.t, dt)
    sig.wrench_lost, sig.wrench_delay_mean = x.up.lost, channel.mean_delay(x.up)
    sig.motion_age, sig.motion_lost = channel.age(x.down, sig.t, dt), x.down.lost
    sig.motion_delay_mean = channel.mean_delay(x.down)


@dataclass(frozen=True)
class LinkedTools:
    """The link between hardware and simulation, and where both sides start."""

    link: Link
    frames: Frames
    tool: Pose  # of the hardware, in H
    simulated_tool: Pose  # in N
    base: Metre3  # of the vehicle, in N
    yaw: float  # rad


def _pack(p: np.record, config: LinkedTools, loop: Cycle) -> None:
    link, frames, period = config.link, config.frames, loop.period
    channel.pack(p.up, link, period, loop.noise_key("link"), loop.noise_key("link.duplication"))
    channel.pack(p.down, link, period, loop.noise_key("downlink"), loop.noise_key("downlink.duplication"))
    p.patience = link.delay + link.jitter + SILENCE
    p.show_flight = frames.show_flight
    (p_HB, q_HB), (p_NE, q_NE) = config.tool, config.simulated_tool
    p_Nb, yaw = config.base, config.yaw
    once.spatial.store(p.X_NH, frames.hardware_in_world(p_HB, p_NE))
    once.spatial.store(p.X_Nb_start, (p_Nb, (math.cos(0.5 * yaw), 0.0, 0.0, math.sin(0.5 * yaw))))
    p.q_EB = once.so3.multiply(once.so3.inverse(q_NE), once.so3.multiply(frames.attitude, q_HB))
    p.X_HB_start.p, p.X_HB_start.q = p_HB, q_HB


@jit
def _reset(sig, x, p):
    channel.reset(x.up, p.up)
    channel.reset(x.down, p.down)
    x.share = 1.0
    spatial.store(sig.X_HB_rest, spatial.load(p.X_HB_start))


INTERFACE = StageKind(
    "interface",
    interface_step,
    reads=("t", "tick", "F_h_H", "push_N", "X_Nb_meas", "e_p_N", "p_bd_N", "yaw_bd", "X_bE_des", "e_p_H", "X_HB_rest"),
    writes=(
        "F_E_N",
        "F_E_b",
        "e_p_H",
        "X_HB_rest",
        "wrench_share",
        "wrench_age",
        "wrench_lost",
        "wrench_delay_mean",
        "motion_age",
        "motion_lost",
        "motion_delay_mean",
    ),
    state=record(up=channel.memory(UP_NUMBERS), down=channel.memory(DOWN_NUMBERS), share="f8", started="i8"),
    params=record(
        up=channel.PARAMS,
        down=channel.PARAMS,
        patience="f8",
        show_flight="i8",
        X_NH=POSE,
        X_Nb_start=POSE,
        X_HB_start=POSE,
        q_EB=4,
    ),
    pack=_pack,
    reset=_reset,
)
