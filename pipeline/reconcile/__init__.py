"""Finds the outstanding rows of a fanned-out dataset, and sends them again."""
