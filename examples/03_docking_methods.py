"""A docking contact on a robot 20 ms late: what each method makes of it."""

from hilt import job

print("method  speed after 5 contacts / ideal  largest force / ideal")
for method in ("none", "pic", "dac", "pida"):
    result = job.simulate(*job.find("docking", "table1", [f"compensate.method={method}"]))
    print(f"{method:6s} {result.metrics['cov'][-1]:26.3f} {max(result.metrics['cof']):24.3f}")
