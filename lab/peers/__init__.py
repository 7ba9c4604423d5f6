"""Other trackers beside fanin: the same items, duplicates and killed workers. ``make peers``."""
