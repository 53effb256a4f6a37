"""The rehearsal at set-up: the first contact of what the controller was told, with this same controller and slower clocks.

The contact may be softer or stiffer than told and the robot slower; the largest β whose worst |CoF - 1| over these is within
0.02 of the best β is taken. Nothing is drawn by chance, and nothing of the scenario's truth is used.
"""

import math
from typing import Any

import numpy as np

CLOCKS = tuple(1.0 - 0.04 * i for i in range(11))
CASES = ((0.65, 1.0), (1.0, 1.0), (1.65, 1.1))  # of the stiffness, of the robot's delays
GOOD_ENOUGH = 0.02
FLIGHT = 0.25  # s before the contact: the lead is engaged, the clock slows down
LOGGED = 32  # rows


def told_scenario(scenario: Any, stiffness: float, slower: float) -> Any:
    """The scenario as the controller knows it: its robot and contact the true ones, times the factors, one collision.

    The told figures stay those of the scenario's own prior.
    """
    prior, robot, contact = scenario.prior, scenario.robot, scenario.contact
    told = prior.robot(scenario)
    true_k = prior.stiffness(scenario) * stiffness
    pure = told.t_d * slower
    own = (told.t_d + told.T1) * slower
    sensor = scenario.assumed_sensor_delay
    zeta = 0.5 * told.T1 / math.sqrt(told.T2) if told.T2 > 0 else robot.damping_ratio
    v = scenario.approach.speed
    omega = math.sqrt(scenario.contact.stiffness / scenario.reduced_mass)
    n = scenario.limits.command_acceleration_ratio * omega / math.sqrt(true_k / scenario.reduced_mass)
    gap = min(scenario.frames.gap, scenario.rod.radius + v * (FLIGHT + own))
    return scenario.model_copy(
        update={
            "robot": robot.model_copy(
                update={"delay": own + scenario.sensor.delay, "pure_delay": pure, "damping_ratio": zeta, "jitter": 0.0}
            ),
            "contact": contact.model_copy(
                update={"kind": "linear", "stiffness": true_k, "damping": 0.0, "rear_stiffness_ratio": 1.0, "friction": 0.0}
            ),
            "frames": scenario.frames.model_copy(update={"gap": gap}),
            "prior": prior.model_copy(
                update={
                    "stiffness_error": 1.0 / stiffness - 1.0,
                    "delay_error": 1.0 / slower - 1.0,
                    "frequency_error": slower - 1.0,
                    "damping_error": 0.0,
                    "surface_error": 0.0,
                }
            ),
            "compensate": scenario.compensate.model_copy(update={"mode": "realtime", "sensor_delay": sensor}),
            "limits": scenario.limits.model_copy(update={"command_acceleration_ratio": n}),
            "collisions": 1,
            "loop": scenario.loop.model_copy(update={"duration": 2.0 * (FLIGHT + own) + 4.0 / omega}),
        }
    )


def peak_force(system: Any, bench: Any, log: np.ndarray, ticks: int) -> float:
    """Largest true force of the first contact; the log is a small one that is written again and again."""
    row, x, w = bench.row.copy(), bench.x.copy(), bench.w.copy()
    peak = 0.0
    for _ in range(0, ticks, len(log)):
        system.batch(row, x, w, bench.p, log)
        size = np.abs(log["F_C_true_W"][:, 0])
        peak = max(peak, float(size.max()))
        if size[-1] < 0.7 * peak:
            break
    return peak


def rehearsed_clock(system: Any, scenario: Any) -> float:
    """β_G; 1 where the clock must not run slower."""
    if scenario.compensate.method != "twin" or scenario.compensate.mode != "guarded":
        return 1.0
    worst = np.zeros(len(CLOCKS))
    log = np.zeros(LOGGED, system.row)
    for stiffness, slower in CASES:
        told = told_scenario(scenario, stiffness, slower)
        bench = system.set_up(told)
        p = bench.p[0]
        p.sensor.noise = p.encoder.position_noise = p.encoder.velocity_noise = 0.0
        ideal = told.approach.speed * math.sqrt(told.contact.stiffness * told.reduced_mass)
        for i, clock in enumerate(CLOCKS):
            p.twin_clock.guarded = clock
            worst[i] = max(worst[i], abs(peak_force(system, bench, log, bench.ticks) / ideal - 1.0))
    return next(clock for clock, error in zip(CLOCKS, worst, strict=True) if error <= worst.min() + GOOD_ENOUGH)
