"""The verbs of work queues and their jobs, of workers on SQS queues, and of the group-batcher's tasks."""
