"""Requests, units, refused writes, bytes and dollars of an ack, by the way in which items are acked."""
