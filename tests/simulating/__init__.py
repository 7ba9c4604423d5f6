"""What the simulators share: faults, broken promises, many seeds, broken rules."""
