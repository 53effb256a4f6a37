"""freefloat: a free-floating body rendered by a robot, with a passive integrator (De Stefano et al. 2017)."""
