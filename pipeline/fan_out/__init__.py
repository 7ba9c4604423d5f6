"""Fans a dataset out as the items of one batch, one SQS message per row."""
