"""The client library: batches, items and acks, over HTTP or on the tables, and the SQS consumer."""
