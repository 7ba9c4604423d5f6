"""The tracker itself, run over a store that fails on purpose, under schedules that a seed decides."""
