"""A raise of parts under seeded schedules: stale configs, delayed copies, crashes, repeated adds."""
