"""The port between the client and the tracker, and its two ways: HTTP, and the tables themselves."""
