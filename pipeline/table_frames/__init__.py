"""Reads the tracker's tables as frames, from point-in-time exports or a parallel Scan."""
