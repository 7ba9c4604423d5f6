"""The bodies and query parameters of requests, as strict models."""
