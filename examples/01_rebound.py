"""A body hits a spring wall through a robot that is late: each rebound is faster than the last."""

import hilt

print("delay   speed after / before   made by the delay")
for delay in ("0 ms", "1 ms", "2 ms", "4 ms"):
    run = hilt.run("freefloat", "wall", {"robot.delay": delay, "integrator.kind": "euler"})
    made = {row["port"]: row["net_J"] for row in run.ledger["rows"]}["delay"]
    print(f"{delay}   {run.metrics['rebound_gain'][0]:20.3f}   {1000 * made:14.1f} mJ")
