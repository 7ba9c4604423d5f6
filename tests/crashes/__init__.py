"""Every deployed handler, killed before and after each request it makes, then delivered the same event again."""
