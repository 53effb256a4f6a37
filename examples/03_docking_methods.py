"""A docking contact on a robot 20 ms late: the result with each method."""

import hilt

print("method  speed after 5 contacts / ideal  largest force / ideal")
for method, run in hilt.compare("docking", "table1", over={"compensate.method": ["none", "pic", "dac", "pida"]}).items():
    print(f"{method:6s} {run.metrics['cov'][-1]:26.3f} {max(run.metrics['cof']):24.3f}")
