"""The slave arm's hand on the payload's grip: the arm moves as commanded, late; a spring and a damper join hand and grip.

f = K (x_s - x_g) + D (v_s - v_g)        on the payload, at its grip; within ± play the spring does nothing
"""

import math

from pydantic import Field

from hilt.compiled import jit
from hilt.maths import delay, noise, so3, vec
from hilt.scenario import Section
from hilt.signals import record
from hilt.stage import StageKind
from hilt.units import Metre, Metre3, Newton, Newton3, NewtonPerMetre, NewtonSecondPerMetre, Second


class Grip(Section):
    """The real joint between hand and payload."""

    stiffness: NewtonPerMetre = Field(default=20e3, gt=0)
    damping: NewtonSecondPerMetre = Field(default=300.0, ge=0)
    play: Metre = Field(default=0.0, ge=0)
    position: Metre3 = Field(default=(0.0, 0.0, 0.0), description="of the grip, in the payload's frame")


class Arm(Section):
    """The slave arm and its wrist sensor."""

    delay: Second = Field(default=0.0, ge=0, description="dead time of the arm")
    force_noise: Newton = Field(default=0.0, ge=0, description="rms of each axis of the wrist sensor")
    force_bias: Newton3 = (0.0, 0.0, 0.0)


@jit
def grip_step(sig, x, p, dt):
    # The arm: the velocity commanded in the last tick, after its dead time.
    delay.push_wrench(x.line, sig.v_sc, (0.0, 0.0, 0.0))  # a line of six numbers, of which a velocity needs three
    v_s = delay.read(x.line, p.samples, 0)
    x_s = vec.add(vec.load(x.x_s), vec.scale(dt, v_s)) if x.started else vec.load(x.x_s)
    x.started = 1
    vec.store(x.x_s, x_s)

    q = so3.load(sig.X_WB_true.q)
    arm_W = so3.rotate(q, vec.load(p.grip_B))
    x_g = vec.add(vec.load(sig.X_WB_true.p), arm_W)
    v_g = vec.add(vec.load(sig.V_WB_true.v), vec.cross(vec.load(sig.V_WB_true.w), arm_W))
    stretch = vec.sub(x_s, x_g)
    if p.play > 0.0:
        size = math.sqrt(vec.dot(stretch, stretch))
        stretch = vec.scale(max(0.0, 1.0 - p.play / size) if size > 0.0 else 0.0, stretch)
    f = vec.add(vec.scale(p.stiffness, stretch), vec.scale(p.damping, vec.sub(v_s, v_g)))
    lever = vec.sub(arm_W, so3.rotate(q, vec.load(p.com_B)))
    vec.store(sig.F_Bcm_true_W.f, f)
    vec.store(sig.F_Bcm_true_W.tau, vec.cross(lever, f))

    measured = vec.add(f, vec.load(p.bias))
    if p.noise > 0.0:
        measured = vec.add(measured, vec.scale(p.noise, noise.normal_vector(x.noise)))
    vec.store(sig.f_s, measured)
    vec.store(sig.x_s, x_s)
    vec.store(sig.v_s, v_s)


def _pack(p, scenario):
    grip, arm = scenario.grip, scenario.arm
    p.stiffness, p.damping, p.play = grip.stiffness, grip.damping, grip.play
    p.grip_B, p.com_B = grip.position, scenario.payload.centre_of_mass
    p.samples = arm.delay / scenario.loop.period
    p.noise, p.bias = arm.force_noise, arm.force_bias
    p.x0 = scenario.start_of_grip
    p.key = scenario.noise_key("arm.force_noise")


@jit
def _reset(sig, x, p):
    vec.store(x.x_s, vec.load(p.x0))
    vec.store(sig.x_s, vec.load(p.x0))
    x.noise.key = p.key


GRIP = StageKind(
    "grip",
    grip_step,
    reads=("v_sc", "X_WB_true", "V_WB_true"),
    writes=("F_Bcm_true_W", "f_s", "x_s", "v_s"),
    state=record(line=delay.WRENCH_LINE, x_s=3, started="i8", noise=noise.NOISE),
    params=record(
        stiffness="f8", damping="f8", play="f8", grip_B=3, com_B=3, samples="f8", noise="f8", bias=3, x0=3, key="u8",
    ),
    pack=_pack,
    reset=_reset,
)  # fmt: skip
