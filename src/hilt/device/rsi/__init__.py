"""KUKA Robot Sensor Interface: the controller requests a correction of pose or joints every 4 or 12 ms, in XML over UDP."""
