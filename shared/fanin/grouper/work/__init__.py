"""The use cases: register a task, lead its lane, handle a bundle, and sweep what was left."""
