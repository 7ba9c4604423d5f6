"""Spark jobs around a batch: whatever is proportional to its size."""
