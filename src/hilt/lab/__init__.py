"""What one does before a run on devices: check the host, drive home, calibrate, identify; and the emulated lab."""
