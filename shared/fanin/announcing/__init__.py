"""The event of an ended batch as it is on the bus, and who puts it there beside the stream."""
