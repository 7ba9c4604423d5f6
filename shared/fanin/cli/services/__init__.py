"""The verbs of all else: the dashboard, costs, the group-batcher, work queues."""
