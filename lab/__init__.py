"""Measurements of speed and cost; README.md lists the commands."""
