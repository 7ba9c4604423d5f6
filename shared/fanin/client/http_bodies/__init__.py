"""The JSON of the HTTP contract as the client writes and reads it."""
