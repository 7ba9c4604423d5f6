"""The verbs of all else: the local run, the dashboard, costs, the group-batcher, work queues."""
