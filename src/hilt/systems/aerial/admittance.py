"""A compliant frame: the desired pose yields to a wrench like a mass on a spring and a damper.

    M x̃'' + D x̃' + K x̃ = h        x̃ = x_compliant - x_desired    [Cuniato2022, eq. 4, eq. 8]

Printed the other way round, the frame would move against the force. Three axes are shifts, three are the rotation vector φ of
q_compliant = exp(φ) q_desired: the log map, whole angles (the quaternion's vector part, as printed, halves the stiffness). The
compliant angular velocity is ω = J(φ) φ', so the torque enters as J(φ)ᵀ τ, and the power at (τ, ω) equals the power at φ.

Implicit midpoint, one axis at a time:

    M (v⁺ - v)/T + D v_m + K x_m = h,    v_m = (v + v⁺)/2,    x_m = x̃ + T v_m/2,    x̃⁺ = x̃ + T v_m

so ½M v² + ½K x̃² changes by exactly h v_m T - D v_m² T: passive at any T, and second-order accurate.
"""

import math

from hilt.compiled import jit
from hilt.core.signals import record
from hilt.maths import so3, vec

SMALL = 1e-4  # square of an angle below which series are used

# z: shift and turn, v: their rates, v_mid: the rates over the last tick, h: the effort that drove them.
COMPLIANCE = record(z=6, v=6, v_mid=6, h=6)


@jit
def midpoint(z, v, h, mass, damping, stiffness, dt):
    """Rate of one axis at the midpoint of a tick."""
    return (h - stiffness * z + 2.0 * mass * v / dt) / (2.0 * mass / dt + damping + 0.5 * dt * stiffness)


@jit
def _jacobian_factors(phi):
    square = vec.dot(phi, phi)
    if square < SMALL:
        return 0.5 - square / 24.0, 1.0 / 6.0 - square / 120.0
    angle = math.sqrt(square)
    return (1.0 - math.cos(angle)) / square, (angle - math.sin(angle)) / (square * angle)


@jit
def turn_rate(phi, rate):
    """ω = J(φ) φ' = φ' + a φ × φ' + b φ × (φ × φ'): angular velocity of exp(φ), in the frame of φ."""
    a, b = _jacobian_factors(phi)
    side = vec.cross(phi, rate)
    return vec.add(vec.add(rate, vec.scale(a, side)), vec.scale(b, vec.cross(phi, side)))


@jit
def turn_effort(phi, tau):
    """J(φ)ᵀ τ: the effort at φ' with the same power as τ at ω."""
    a, b = _jacobian_factors(phi)
    side = vec.cross(phi, tau)
    return vec.add(vec.sub(tau, vec.scale(a, side)), vec.scale(b, vec.cross(phi, side)))


@jit
def turn_of(x):
    return (x.z[3], x.z[4], x.z[5])


@jit
def apply_wrench(x, f, tau):
    """Set the effort x.h from the wrench of this tick, in the frame of the desired pose's coordinates."""
    effort = turn_effort(turn_of(x), tau)
    for i in range(3):
        x.h[i] = f[i]
        x.h[i + 3] = effort[i]


@jit
def comply(x, mass, damping, stiffness, dt):
    """Advance all six axes by one tick under x.h.  [Cuniato2022, eq. 4, eq. 8]"""
    for i in range(6):
        v_mid = midpoint(x.z[i], x.v[i], x.h[i], mass[i], damping[i], stiffness[i], dt)
        x.z[i] += dt * v_mid
        x.v[i] = 2.0 * v_mid - x.v[i]
        x.v_mid[i] = v_mid


@jit
def stored(x, mass, stiffness):
    """½ vᵀM v + ½ x̃ᵀK x̃  [Cuniato2022, eq. 9, eq. 11]"""
    energy = 0.0
    for i in range(6):
        energy += 0.5 * (mass[i] * x.v[i] * x.v[i] + stiffness[i] * x.z[i] * x.z[i])
    return energy


@jit
def supplied(x, dt):
    """Energy that entered through the port over the last tick."""
    work = 0.0
    for i in range(6):
        work += dt * x.h[i] * x.v_mid[i]
    return work


@jit
def dissipated(x, damping, dt):
    """Energy dissipated by the damper over the last tick."""
    heat = 0.0
    for i in range(6):
        heat += dt * damping[i] * x.v_mid[i] * x.v_mid[i]
    return heat


@jit
def compliant_attitude(x, q_desired):
    return so3.normalise(so3.multiply(so3.exp(turn_of(x)), q_desired))


@jit
def compliant_turn_rate(x):
    """Angular velocity of the compliant frame relative to the desired one."""
    return turn_rate(turn_of(x), (x.v[3], x.v[4], x.v[5]))
