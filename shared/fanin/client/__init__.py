"""What users import: batches and acks, over HTTP or on the tables themselves, and the SQS consumer."""
