"""Blocks between the sensor and the users of its wrench: filters, tool load, the wrench at the centre of mass."""
