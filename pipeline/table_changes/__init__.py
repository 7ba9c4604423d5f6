"""Changes of the tables, as the archive has them: its lines, the items that a change acked, and ack logs."""
