"""Messages and events: put on a bus, moved aside, kept, hidden for a time, or sent to a state machine."""
