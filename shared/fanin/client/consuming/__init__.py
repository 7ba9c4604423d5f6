"""Lambda handlers of SQS queues: their records are worked on in order, acked, and deleted or returned."""
