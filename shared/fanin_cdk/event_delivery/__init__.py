"""Constructs that deliver events: of ended batches and dead jobs to the bus, and from it to their targets."""
