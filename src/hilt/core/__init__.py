"""What every other room is written with: signals, stages, systems, scenarios, units, faults, guard, ledger, clock."""
