"""Races, loads, killed workers and times on the local run."""
