"""Tests of a worker outside of Lambda, in this process."""
