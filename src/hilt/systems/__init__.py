"""One folder a system: its scenario, its block diagram, its own stages, metrics, views, analysis, and its paper's audit."""
