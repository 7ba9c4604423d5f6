"""SQS and EventBridge: messages received, hidden, kept, moved to another queue, and events put on a bus."""
