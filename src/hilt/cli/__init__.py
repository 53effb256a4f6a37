"""The command line: `hilt run`, `compare`, `show`, `replay`, `reproduce`, and the commands of the lab and the cockpit."""
