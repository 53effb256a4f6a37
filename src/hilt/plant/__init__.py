"""What the real world does, for simulation: robots that lag, sensors, encoders, joysticks."""
