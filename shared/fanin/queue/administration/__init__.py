"""What operators do with queues: create, describe, list, pause, revive, remove."""
