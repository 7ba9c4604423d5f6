"""Constructs of events: the ending of a batch, its confirmation, and to whom it goes."""
