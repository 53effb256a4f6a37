"""What all other packages build on: signals, stages, systems, scenarios, units, faults, guard, ledger, clock."""
