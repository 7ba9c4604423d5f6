"""Histories of concurrent requests, and a checker that searches for a sequential order of each."""
