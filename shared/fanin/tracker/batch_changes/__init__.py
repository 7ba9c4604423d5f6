"""The use cases that change a batch: open, ack, climb, reopen, delete, and the sweep of what is overdue."""
