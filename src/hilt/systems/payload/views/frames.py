"""Frames of payload: hands and payloads whose poses are logged as plain numbers, and the joints of the slave arms."""

from hilt.record.standard import Couple, Fixed, Frames, Joints, Pose
from hilt.systems.payload.arm_model import JOINTS
from hilt.systems.payload.payload import Payload


def frames(values: Payload) -> Frames:
    sensor = Frames(fixed=(Fixed("B_meas", "S", values.sensor.position, values.sensor.attitude),))
    if values.bilateral_mode:
        hands = Frames(
            poses=(Pose("x_m", "W", "m", "x_m"), Pose("x_s", "W", "s", "x_s")),
            wrenches=(Couple("f_m", "m", "f_m"), Couple("f_s", "s", "f_s")),
        )
        return sensor + hands
    hands = Frames(
        poses=(
            Pose("x_vir", "W", "vir", "x_vir", "q_vir"),
            Pose("x_tvir", "W", "tvir", "x_tvir", "q_tvir"),
            Pose("x_s", "W", "s", "x_s", "q_s"),
        ),
        wrenches=(Couple("f_vir", "W", "f_vir", "tau_vir"), Couple("f_s", "W", "f_s", "tau_s")),
    )
    if values.arm.model == "robot":
        return sensor + hands + Frames(fixed=(Fixed("s", "Q", values.wrist.position, values.wrist.attitude),))
    if values.arm.model == "point":
        return sensor + hands
    arms = (
        Joints(tuple(f"slave{arm + 1}_joint{joint + 1}" for joint in range(JOINTS)), "q_arm", JOINTS * arm)
        for arm in range(values.arm.count)
    )
    return sensor + hands + Frames(joints=tuple(arms))
