"""The trackers that are compared: how a run of each is published, worked and acked."""
