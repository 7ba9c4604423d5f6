"""What is read of a batch: its progress, its map, and its items as ranges."""
