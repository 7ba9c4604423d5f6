"""Cursors of lists, as opaque texts: of batches and items, of a target's tasks and bundles, of queues."""
