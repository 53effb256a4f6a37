"""Arms for the tests of joint space: those whose URDF comes with hilt, with postures to start from."""

from hilt.device.joints.settings import JointSettings
from hilt.device.joints.space import JointSpace

ARMS = {
    "ur5e": {"urdf": "ur5e.urdf", "base": "base", "tip": "tool0", "posture": (0.3, -1.2, 1.6, -1.9, -1.5, 0.2)},
    "panda": {"urdf": "panda.urdf", "base": "link0", "tip": "link8", "posture": (0.1, -0.5, 0.2, -2.2, 0.1, 1.8, 0.8)},
}


def settings(arm, **changes):
    return JointSettings(**{**ARMS[arm], "acceleration": 100.0, **changes})


def space(arm, cycle=0.002, **changes):
    return JointSpace(settings(arm, **changes), cycle)
