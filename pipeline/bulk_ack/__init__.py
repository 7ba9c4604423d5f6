"""Acks items in bulk from ack logs, with one conditional write per page."""
