"""Blocks between the sensor and what uses its wrench: filters, tool load, the wrench at the centre of mass."""
