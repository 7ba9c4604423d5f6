"""Every deployed handler is killed before and after each of its requests, then its event comes again."""
