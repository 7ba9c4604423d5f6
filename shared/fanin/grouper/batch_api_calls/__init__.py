"""Calls of batch APIs: over HTTP, or by invoking a function."""
