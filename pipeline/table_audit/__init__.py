"""Checks that batches, pages and parents agree."""
