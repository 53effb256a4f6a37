"""The command line: `hilt run`, `compare`, `show`, `replay`, `reproduce`, and those of the lab and the cockpit."""
