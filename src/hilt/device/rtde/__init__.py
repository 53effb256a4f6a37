"""Universal Robots: a robot and its force sensing over the Real-Time Data Exchange (RTDE)."""
