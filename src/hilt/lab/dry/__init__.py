"""The processes of an emulated facility: a robot and a sensor, each with its own clock, connected by the mock-up."""
