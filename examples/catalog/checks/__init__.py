"""What the demo must find, what it found, and what it still waits for."""
