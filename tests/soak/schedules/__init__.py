"""Many short schedules at once under faults on the wire, each judged by what it did: ``make faults``."""
