"""``make proof``: what takes hours, in stages that go on where they stopped, and its page."""
