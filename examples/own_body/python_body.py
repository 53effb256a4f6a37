"""The same body in Python, for PythonFMU: `pythonfmu build -f python_body.py`. Good for trying out a model, slow in a loop."""

import math

from pythonfmu import Fmi2Causality, Fmi2Slave, Fmi2Variability, Real


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def rotate(q, a, back=1.0):
    u = (back * q[1], back * q[2], back * q[3])
    t = [2.0 * each for each in cross(u, a)]
    ut = cross(u, t)
    return [a[i] + q[0] * t[i] + ut[i] for i in range(3)]


def times(m, a):
    return [m[3 * i] * a[0] + m[3 * i + 1] * a[1] + m[3 * i + 2] * a[2] for i in range(3)]


def inverse(m):
    rows = (m[0:3], m[3:6], m[6:9])
    columns = [cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)]
    det = sum(a * b for a, b in zip(rows[0], columns[0], strict=True))
    return [columns[j][i] / det for i in range(3) for j in range(3)]


def turned(q, phi):
    """q exp(phi), kept at unit length."""
    square = sum(each * each for each in phi)
    angle = math.sqrt(square)
    s = 0.5 - square * (1.0 / 48.0 - square / 3840.0) if square < 1e-4 else math.sin(0.5 * angle) / angle
    w = 1.0 - square * (0.125 - square / 384.0) if square < 1e-4 else math.cos(0.5 * angle)
    x, y, z = (s * each for each in phi)
    r = (
        q[0] * w - q[1] * x - q[2] * y - q[3] * z,
        q[0] * x + q[1] * w + q[2] * z - q[3] * y,
        q[0] * y - q[1] * z + q[2] * w + q[3] * x,
        q[0] * z + q[1] * y - q[2] * x + q[3] * w,
    )
    length = 1.5 - 0.5 * sum(each * each for each in r)
    return [length * each for each in r]


class PythonBody(Fmi2Slave):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.f, self.tau = [0.0] * 3, [0.0] * 3
        self.p, self.q, self.v, self.w = [0.0] * 3, [1.0, 0.0, 0.0, 0.0], [0.0] * 3, [0.0] * 3
        self.mass, self.I, self.L = 1.0, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0], [0.0] * 3
        for name, memory, causality in (
            ("force", self.f, "input"),
            ("torque", self.tau, "input"),
            ("position", self.p, "output"),
            ("attitude", self.q, "output"),
            ("velocity", self.v, "output"),
            ("angular_velocity", self.w, "output"),
            ("inertia", self.I, "parameter"),
        ):
            for i in range(len(memory)):
                self._entry(name, memory, i, Fmi2Causality[causality])
        self.register_variable(Real("mass", causality=Fmi2Causality.parameter, variability=Fmi2Variability.fixed))

    def _entry(self, name, memory, i, causality):
        def put(value):
            memory[i] = value

        kind = Fmi2Variability.fixed if causality is Fmi2Causality.parameter else Fmi2Variability.continuous
        self.register_variable(
            Real(f"{name}[{i + 1}]", causality=causality, variability=kind, getter=lambda: memory[i], setter=put)
        )

    def exit_initialization_mode(self):
        self.inverse = inverse(self.I)
        self.L[:] = rotate(self.q, times(self.I, rotate(self.q, self.w, -1.0)))

    def do_step(self, t, dt):
        for i in range(3):
            before = self.v[i]
            self.v[i] = before + dt * self.f[i] / self.mass
            self.p[i] += dt * (0.5 * (before + self.v[i]))
        L = rotate(self.q, [self.L[i] + 0.5 * dt * self.tau[i] for i in range(3)], -1.0)
        wL = cross(times(self.inverse, L), L)
        L = [L[i] - 0.5 * dt * wL[i] for i in range(3)]
        self.q[:] = turned(self.q, [dt * each for each in times(self.inverse, L)])
        for i in range(3):
            self.L[i] += dt * self.tau[i]
        self.w[:] = rotate(self.q, times(self.inverse, rotate(self.q, self.L, -1.0)))
        return True
