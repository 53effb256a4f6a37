"""Models of the real world for simulation: robots that lag, sensors, encoders, joysticks."""
