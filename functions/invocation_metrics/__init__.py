"""Metrics of an invocation, as CloudWatch embedded metric format."""
