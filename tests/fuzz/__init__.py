"""Fuzzed requests and records, and ids of other tenants, against all deployed handlers in this process."""
