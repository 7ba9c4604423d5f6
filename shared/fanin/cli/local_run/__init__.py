"""The verbs of the local run: start, stop, inspect it, and work on its queues."""
