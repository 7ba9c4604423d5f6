"""The verbs of batches: open, add, ack, watch, publish, redrive."""
