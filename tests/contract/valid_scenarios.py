"""Random scenarios that are meant to be valid: all methods of a system, masses of 1e-3 to 1e6 kg, stiffness of 1 to 1e9 N/m.

The rest of a scenario is drawn to match: bodies as large as their inertia says, delays of some ticks, a distance covered in
some hundred ticks, noise relative to the expected force. Limits are drawn around the expected values too, so that many runs
end with a fault. A draw that the scenario's own checks refuse is counted, not corrected.
"""

import math
import random

from hilt.core import registry, scenario
from hilt.core.scenario import read_toml

METHODS = ("none", "pic", "dac", "pida", "pida-literal", "twin")
LARGE = 1e9  # a limit that is hardly ever reached


class Draw(random.Random):
    def log(self, low, high):
        return 10 ** self.uniform(math.log10(low), math.log10(high))

    def sometimes(self, value, otherwise=0.0, chance=0.5):
        return value if self.random() < chance else otherwise

    def vector(self, size):
        return [self.uniform(-size, size) for _ in range(3)]

    def direction(self):
        while not 0.1 < math.hypot(*(found := self.vector(1.0))) < 1.0:
            pass
        return found

    def inertia(self, mass):
        """Of a box with edges of 5 cm to 2 m, along its own axes."""
        a, b, c = (self.log(0.05, 2.0) ** 2 * mass / 12.0 for _ in range(3))
        return [b + c, c + a, a + b]

    def robot(self, period, sensor_delay=0.0):
        kind = self.choice(["ideal", "delay", "second-order", "delay+second-order"])
        own = self.uniform(0.5, 40.0) * period
        return {
            "kind": kind,
            "delay": 0.0 if kind == "ideal" else own + sensor_delay,
            "pure_delay": self.uniform(0.1, 0.9) * own if kind == "delay+second-order" else 0.0,
            "damping_ratio": self.uniform(0.4, 2.0),
            "start_at_rest": self.random() < 0.2,
        }

    def limits(self, force, torque, speed, energy, acceleration, reach):
        """Around the expected values: sometimes reached, sometimes not; or so large that hardly anything stops a run."""
        wide = self.random() < 0.5

        def about(expected):
            return LARGE if wide else min(expected * self.log(1.0, 1e3), LARGE)

        return {
            "force": about(force + 1e-3),
            "torque": about(torque + 1e-3),
            "speed": min(about(speed), 1e6),
            "angular_speed": min(about(1.0), 1e6),
            "acceleration": about(acceleration),
            "angular_acceleration": self.sometimes(about(1e3), None),
            "jerk": self.sometimes(about(1e3 * acceleration), None),
            "energy": about(energy),
            "workspace_min": [-about(reach)] * 3,
            "workspace_max": [about(reach)] * 3,
        }


def base(draw, system, *names):
    """A shipped scenario, as its file says it."""
    return read_toml(registry.system(system).scenario_files[draw.choice(names)])


def docking(draw, ticks):
    turns = draw.random() < 0.5
    tree = (
        base(draw, "docking", "oblique")
        if turns
        else base(draw, "docking", "table1", "twin", "bench-2.64", "bench-1.93", "soft-rear")
    )
    period = draw.log(2e-4, 1e-2)
    masses = draw.log(1e-3, 1e6), draw.log(1e-3, 1e6)
    reduced = masses[0] * masses[1] / sum(masses)
    k, speed = draw.log(1.0, 1e9), draw.log(1e-3, 1.0)
    omega = math.sqrt(k / reduced)
    force, sensor_delay = speed * math.sqrt(k * reduced), draw.sometimes(draw.uniform(0.0, 4.0) * period)
    radius, travel = draw.log(1e-3, 1e-2), speed * period * draw.uniform(20.0, 0.3 * ticks)
    for name, mass in zip(("servicer", "target"), masses, strict=True):
        tree[name] |= {"mass": mass, "inertia": draw.inertia(mass)}
        if turns:
            tree[name]["angular_velocity"] = draw.vector(draw.sometimes(0.1 * speed))
            tree[name]["assembly_position"] = draw.vector(draw.log(1e-2, 1.0))
    tree["approach"]["speed"] = speed
    tree["frames"] = {"gap": radius + travel, "shift": draw.sometimes(0.01 * travel, chance=0.2), "shift_after": 1}
    tree["rod"] = {"radius": radius}
    if turns:
        tree["approach"]["direction"] = tree["frames"]["normal"] = draw.direction()
        tree["approach"]["direction"] = [a + b for a, b in zip(tree["frames"]["normal"], draw.vector(0.1), strict=True)]
        tree["rod"]["tip"] = draw.vector(0.3)
    depth = speed / omega
    tree["contact"] = {
        "kind": draw.choice(["linear", "linear", "hertz"]),
        "stiffness": k,
        "damping": draw.sometimes(2.0 * draw.uniform(0.0, 1.2) * math.sqrt(k * reduced)),
        "rear_stiffness_ratio": draw.choice([1.0, draw.log(0.2, 5.0)]),
        "hertz_coefficient": k / math.sqrt(depth),
        "friction": draw.sometimes(draw.uniform(0.0, 0.5), chance=0.3),
    }
    tree["robot"] = draw.robot(period, sensor_delay) | {"stiffness": draw.sometimes(k * draw.log(1.0, 1e3), chance=0.2)}
    tree["sensor"] = {
        "delay": sensor_delay,
        "noise": draw.sometimes(force * draw.log(1e-4, 1e-1)),
        "dropout": draw.sometimes(0.02, chance=0.2),
        "bias": draw.vector(draw.sometimes(0.1 * force, chance=0.2)),
    }
    tree["encoder"] = {"position_noise": draw.sometimes(1e-3 * depth), "velocity_noise": draw.sometimes(1e-3 * speed)}
    tree["identify"] = {"kind": draw.choice(["absolute", "akf"]), "stiffness": k * draw.log(0.1, 10.0)}
    tree["compensate"] = {"method": draw.choice(METHODS), "mode": draw.choice(["guarded", "realtime"])}
    tree["prior"] = {
        name: draw.uniform(-0.6, 2.0) for name in ("stiffness_error", "delay_error", "frequency_error", "damping_error")
    } | {"surface_error": draw.uniform(-0.1, 0.1) * travel}
    if turns:
        tree["prior"] |= {"normal_error": draw.uniform(-0.3, 0.3), "normal_doubt": draw.choice([0.0, 0.05])}
    tree["limits"] = draw.limits(
        force, force, speed, 0.5 * masses[0] * speed**2, speed * max(omega, 0.01 / period), 10.0 * travel
    )
    tree["collisions"] = draw.randint(1, 5)
    tree["loop"] = {"period": period, "duration": ticks * period}
    if draw.sometimes(1.0, chance=0.15):
        tree["contact"] |= {"kind": "hunt-crossley", "damping": 0.0, "dissipation": min(1000.0, draw.log(1e-2, 2.0) / speed)}
    if turns and tree["compensate"]["method"] != "twin":
        tree["frames"]["cone"] = draw.sometimes(draw.uniform(0.0, 1.2), chance=0.15)
    return tree


def freefloat(draw, ticks):
    tree = base(draw, "freefloat", "capture", "oos-sim", "paper", "tumble", "wall")
    period, mass, k, speed = draw.log(2e-4, 1e-1), draw.log(1e-3, 1e6), draw.log(1.0, 1e9), draw.log(1e-3, 1.0)
    duration, dof = ticks * period, draw.choice([1, 3, 6])
    omega = math.sqrt(k / mass)
    force = mass * speed / duration
    travel = speed * period * draw.uniform(20.0, 0.3 * ticks)
    tree["body"] |= {
        "mass": mass,
        "dof": dof,
        "inertia": draw.inertia(mass),
        "velocity": [speed, 0.0, 0.0],
        "angular_velocity": draw.vector(draw.log(1e-3, 1.0) / period * 0.1) if dof == 6 else [0.0, 0.0, 0.0],
        "centre_of_mass": draw.vector(draw.sometimes(0.3)),
    }
    tree["integrator"] = {"kind": draw.choice(["euler", "explicit", "passive", "passive-literal", "trapezoid", "momentum"])}
    tree["robot"] = draw.robot(period) | {"lead": draw.random() < 0.3}
    tree["sensor"] = {
        "noise": draw.sometimes(1e-2 * force),
        "delay": draw.sometimes(2.0 * period),
        "position": draw.vector(0.2),
    }
    tree["push"] = [
        {
            "start": draw.uniform(0.0, 0.5) * duration,
            "duration": draw.uniform(0.05, 0.8) * duration,
            "force": draw.vector(force * draw.log(1e-2, 10.0)),
        }
        for _ in range(draw.randint(0, 3))
    ]
    tree.pop("wall", None)
    if draw.random() < 0.6:
        tree["wall"] = {
            "stiffness": k,
            "damping": draw.sometimes(2.0 * draw.uniform(0.0, 1.2) * math.sqrt(k * mass)),
            "gap": travel,
        }
        force = speed * math.sqrt(k * mass)
    energy = 0.5 * mass * speed**2
    tree["limits"] = draw.limits(force, force, speed, energy, speed * max(omega, 0.01 / period), 10.0 * travel)
    tree["collisions"] = draw.randint(1, 5)
    tree["loop"] = {"period": period, "duration": duration}
    return tree


def payload(draw, ticks):
    kind = draw.choice(["step", "human", "profile", "hand"])
    tree = base(draw, "payload", "bilateral", "feedback-500", "grasp", "hils-1", "hils-2", "outage", "pull-3000", "two-arms")
    period, mass, k, speed = draw.log(5e-4, 5e-3), draw.log(1e-3, 1e6), draw.log(1.0, 1e9), draw.log(1e-3, 0.1)
    duration, dof = ticks * period, draw.choice([1, 3, 6])
    c = draw.uniform(0.0, 1.2) * 2.0 * math.sqrt(k * mass)
    tree["payload"] |= {"mass": mass, "dof": dof, "inertia": draw.inertia(mass)}
    start, after = 0.05 * duration, 0.3 * duration
    tree["operator"] = {"kind": kind, "speed": speed, "start": start, "duration": after}
    if kind == "profile":
        tree["operator"]["profile"] = [[0.0, 0.0], [0.5 * after, speed], [after, 0.0]]
    if kind == "human":
        tree["operator"] |= {"smoothness": draw.uniform(5.0, 100.0) * period, "correction": 0.2 * after}
    tree["link"] = {
        "delay": draw.sometimes(draw.uniform(0.0, 0.2) * duration),
        "jitter": draw.sometimes(draw.uniform(0.0, 0.05) * duration),
        "loss": draw.sometimes(draw.uniform(0.0, 0.5)),
        "duplication": draw.sometimes(0.1),
        "outage_start": 0.4 * duration,
        "outage_duration": draw.sometimes(0.3 * duration),
        "outage_policy": draw.choice(["hold", "soft-stop", "freeze", "brake"]),
    }
    arms = draw.choice([("point", 1), ("point", 1), ("jointed", 1), ("jointed", 2)])
    tree["arm"] = {"model": arms[0], "count": arms[1], "delay": draw.sometimes(5.0 * period)}
    tree["grip"] = {"stiffness": k, "damping": c, "play": draw.sometimes(1e-3, chance=0.2)}
    tree["virtual"] = {
        "grip_stiffness": k * draw.log(0.1, 10.0),
        "grip_damping": c,
        "mass_ratio": draw.log(0.3, 3.0),
        "step": draw.choice(["implicit", "implicit", "explicit"]),
        "identify": draw.random() < 0.3,
    }
    tree["identify"] = {"push_time": 0.1 * duration, "push_rest": 0.02 * duration, "push_settle": 0.1 * duration}
    tree["slave"] = {
        "force_feedback": draw.random() < 0.7,
        "compliance": draw.log(1e-6, 1e-1),
        "damping": draw.uniform(0.0, 0.45),
    }
    tree["hand"] = {"stiffness": draw.log(1.0, 1e5), "distance": speed * after, "time": after}
    tree["master"] = {"mass": draw.log(1e-3, 1e3)}
    tree["bilateral"] = {"gains": draw.choice(["contact", "payload"]), "books": draw.choice(["measured", "commanded", "none"])}
    tree["force_arm"] = {
        "mass": draw.log(1e-3, 1e3),
        "wall_stiffness": draw.sometimes(draw.log(1.0, 1e9)),
        "wall_distance": 0.3 * speed * after,
    }
    tree["hindrance"] = {"drag": draw.sometimes(mass / duration)}
    if draw.random() < 0.3:
        tree["hindrance"] |= {"obstacle_distance": 0.3 * speed * after, "obstacle_stiffness": draw.log(1.0, 1e9)}
    tree["integrator"] = {"kind": draw.choice(["euler", "explicit", "passive", "passive-literal", "trapezoid", "momentum"])}
    tree["table"] = draw.robot(period) | {"lead": draw.random() < 0.7}
    tree["sensor"] = {"noise": draw.sometimes(1e-3 * mass * speed / duration)}
    if draw.random() < 0.5:
        tree["hexa"] = None
    force, energy = speed * math.sqrt(k * mass), 0.5 * mass * speed**2
    tree["limits"] = draw.limits(force, force, speed, energy, 10.0 * speed / duration * ticks, 1.0)
    tree["loop"] = {"period": period, "duration": duration}
    if draw.random() < 0.3:  # the hand starts open, within the reach of its fingers or not
        tree["virtual"]["identify"] = False
        tree["arm"]["start"] = [draw.uniform(-2e-3, 2e-3), 0.0, draw.sometimes(0.05)]
        tree["operator"] |= {"close_at": 0.2 * duration, "release_at": draw.uniform(0.3, 0.9) * duration}
        tree["grip"]["closing"] = draw.uniform(0.01, 0.1) * duration
    return tree


def aerial(draw, ticks):
    tree = base(draw, "aerial", "diverter", "handover", "hover", "push")
    period, mass, k = draw.log(1e-3, 1e-2), draw.log(1e-3, 1e6), draw.log(1.0, 1e9)
    duration = ticks * period
    tree["task"] = {"kind": draw.choice(["hover", "handover", "diverter"])}
    tree["vehicle"] = {"mass": mass, "inertia": draw.inertia(mass)}
    tree["flying_arm"] = {"base_mass": mass, "base_inertia": draw.inertia(mass)}
    # Rotors that can lift it, most of the time.
    tree["rotors"] = {"thrust_factor": (mass + 1.0) * 9.81 / 1100.0**2 * draw.log(0.2, 10.0)}
    tree["simulator"] = {"kind": draw.choice(["mujoco", "rigid"]), "locked": draw.random() < 0.2}
    tree["estimator"] = {"enabled": draw.random() < 0.7, "bandwidth": draw.uniform(0.01, 0.3) / period}
    tree["tank"] = {"enabled": draw.random() < 0.7, "form": draw.choice(["exact", "printed", "ode"])}
    tree["gains"] = (
        {
            name: {"mass": m, "damping": 2.0 * draw.uniform(0.3, 2.0) * math.sqrt(m * s), "stiffness": s}
            for name in ("normal", "hooked", "impact", "front")
            for m, s in [(draw.log(1e-3, 1e6), draw.log(1.0, 1e9))]
        }
        if draw.random() < 0.5
        else {}
    )
    tree["hand"] |= {
        "stiffness": draw.sometimes(k, chance=0.7),
        "damping": draw.log(1e-2, 1e3),
        "amplitude": draw.uniform(0.0, 0.1),
        "frequency": draw.uniform(0.2, 5.0) / duration,
        "start": 0.1 * duration,
        "handover": 0.4 * duration,
        "release": 0.7 * duration,
        "tool_mass": draw.sometimes(draw.log(1e-3, 1.0)),
        "tremor": draw.sometimes(0.05),
    }
    tree["cable"] = {
        "present": draw.random() < 0.3,
        "stiffness": draw.log(1.0, 1e9),
        "mass": draw.log(1e-3, 1e6),
        "wall_stiffness": draw.log(1.0, 1e9),
    }
    tree["push"] = {"force": draw.vector(draw.sometimes(mass)), "start": 0.3 * duration, "duration": 0.2 * duration}
    tree["link"] = {"delay": draw.sometimes(5.0 * period), "loss": draw.sometimes(0.1)}
    tree["port_passivity"] = {"enabled": draw.random() < 0.6}
    tree["force_filter"] = {"bandwidth": draw.uniform(0.05, 1.0) / period, "bias_samples": draw.randint(0, 100)}
    tree["servo"] = draw.choice(
        [
            {"kind": "lag", "lag": draw.uniform(1.0, 10.0) * period},
            {
                "kind": "second-order",
                "natural_frequency": draw.uniform(0.05, 0.5) / period,
                "delay": draw.uniform(0.0, 4.0) * period,
            },
        ]
    )
    tree["limits"] = draw.limits(80.0, 20.0, 1.0, 50.0, 100.0, 2.0)
    tree["loop"] = {"period": period, "duration": duration}
    return tree


GENERATORS = {"aerial": aerial, "docking": docking, "freefloat": freefloat, "payload": payload}
TICKS = {"aerial": 600, "docking": 1500, "freefloat": 1500, "payload": 1500}


def scenario_of(system, number):
    """The scenario `number` of a system, the same on every machine."""
    draw = Draw(f"{system} {number}")
    tree = GENERATORS[system](draw, TICKS[system])
    tree["seed"] = draw.randint(0, 2**31)
    return scenario.build(registry.system(system).scenario, tree)
