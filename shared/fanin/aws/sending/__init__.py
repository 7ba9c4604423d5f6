"""Messages and events: put on a bus, moved to another queue, kept, hidden for a time, or sent to a state machine."""
