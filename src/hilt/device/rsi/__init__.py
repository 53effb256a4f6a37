"""KUKA Robot Sensor Interface: the controller asks for a Cartesian correction every 4 or 12 ms, in XML over UDP."""
