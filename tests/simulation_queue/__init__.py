"""The work queue itself under seeded schedules: faulty requests, crashes, frozen workers, skewed clocks."""
