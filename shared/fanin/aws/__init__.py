"""Clients, timeouts and requests of AWS services, and the table of their error codes."""
