"""CPU and memory of the cold start of each handler."""
