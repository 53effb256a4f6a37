"""payload: a massive payload moved from the ground through a delay of seconds (Yang et al. 2018)."""
