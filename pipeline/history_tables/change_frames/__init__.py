"""The archive of table changes as frames: its files, lines and rows."""
