"""The twin's beliefs, derived from a scenario."""

from typing import Any

from hilt.systems.docking.analysis.bound import effective_mass
from hilt.systems.docking.twin.beliefs import TwinBeliefs
from hilt.systems.docking.twin.prior import limits_of


def beliefs_of(scenario: Any) -> TwinBeliefs:
    """Beliefs from `scenario`, which is already the scenario as the controller believes it to be."""
    prior = scenario.prior
    normal = prior.normal(scenario)
    turned = scenario.model_copy(update={"frames": scenario.frames.model_copy(update={"normal": normal})})
    A, V = limits_of(scenario)
    return TwinBeliefs(
        rotates=scenario.rotates,
        normal=normal,
        normal_doubt=prior.normal_doubt,
        surfaces=prior.surfaces(scenario),
        gap=scenario.frames.gap,
        stiffness=prior.stiffness(scenario),
        threshold=scenario.force_threshold,
        mass=scenario.reduced_mass,
        first_mass=effective_mass(turned),
        lever_arms=scenario.lever_arms(),
        tip_B=scenario.rod.tip,
        start_of_tip=scenario.start_of_tip,
        approach=scenario.approach.velocity,
        approach_speed=scenario.approach.speed,
        robot=prior.robot(scenario),
        give=prior.give(scenario),
        bending=prior.bending(scenario),
        at_rest=scenario.robot.start_at_rest,
        most_acceleration=A,
        most_speed=V,
        sensor_position=scenario.sensor.position,
        sensor_attitude=scenario.sensor.attitude,
        sensor_delay=scenario.assumed_sensor_delay,
        force_noise=scenario.sensor.noise,
        position_noise=scenario.encoder.position_noise,
        velocity_noise=scenario.encoder.velocity_noise,
        realtime=scenario.compensate.mode == "realtime",
    )
