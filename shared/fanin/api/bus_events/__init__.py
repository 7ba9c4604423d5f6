"""The events that the deployment puts on its bus, and what follows from an ending."""
