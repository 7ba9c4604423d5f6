"""One process at work on a queue: its session, its claims, and the jobs that it adds."""
