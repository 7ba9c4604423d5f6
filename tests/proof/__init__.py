"""``make proof``: what takes hours, in stages, and its page."""
