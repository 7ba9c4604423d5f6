"""Messages and events: put on a bus, moved to a queue, kept, hidden for a time, or sent to a workflow."""
