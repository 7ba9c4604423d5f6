"""Command lines: each reads its arguments, and runs the room of its job."""
