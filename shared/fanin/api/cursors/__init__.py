"""Cursors of lists, as opaque texts."""
