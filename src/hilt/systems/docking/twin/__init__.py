"""Method `twin` of docking: a model of the contact runs ahead of the robot by exactly its delay.

The robot is commanded through the inverse of its identified dynamics, within limits on speed and acceleration; the measured
force corrects the model, and the measured work determines how much energy is returned.

measured ──► contact ──► balance ──► clock ──► body ──► two bodies, T_b = βT ──► predict, invert, govern ──► robot
        └──► robot's dynamics ───────────────────────────────────────────────────────┘
"""
