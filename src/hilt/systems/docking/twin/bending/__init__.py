"""The twin on a robot that bends: its tip has a motion of its own, which the encoders do not see.

chain       command, motor, tip and frame, as believed
plan        command accelerations that make the tip follow the reference
command     the stage that plans
knowledge   what is known of the bending and of both frames, and how certain it is
samples     encoders and force from before a touch to its end
fit         the parameters that explain them
learn       the stage that learns after each contact
"""
