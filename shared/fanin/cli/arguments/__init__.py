"""The arguments of the verbs: the API, names of batches, items, and their completion."""
