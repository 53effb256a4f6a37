"""The processes of an emulated facility: a robot and a sensor, each with its own clock, joined by the mock-up between them."""
