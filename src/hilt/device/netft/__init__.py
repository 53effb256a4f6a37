"""ATI Net F/T: a six-axis force/torque sensor that streams over UDP (Raw Data Transfer, RDT)."""
