"""Load on a local run, with faults on the wire and crashes, and its referee: make soak, make faults."""
