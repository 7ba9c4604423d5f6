"""Alarms, metrics and the dashboard."""
