"""The seams in simulation: consumers, batches, tasks, jobs, events and queues as they work together."""
