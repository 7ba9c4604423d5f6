"""Requests and read units: of acks, of large batches, of workers and of the sweeps."""
