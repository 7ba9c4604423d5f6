"""Of the events that are put on the bus at once."""
