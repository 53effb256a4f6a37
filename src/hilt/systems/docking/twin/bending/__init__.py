"""The twin on a robot that bends: its tip swings, which the encoders do not see.

chain       command, motor, tip and frame, as believed
plan        command accelerations for which the tip follows the reference
command     the stage that plans
knowledge   estimates of the bending and of both frames, with their uncertainty
samples     encoders and force, from before a touch to the end of the contact
fit         parameters that explain them
learn       the stage that learns after each contact
"""
