"""aerial: a human works hand in hand with a simulated flying arm through a real one (Cuniato et al. 2022)."""
