"""What the group-batcher does: register a task, lead its lane, handle a bundle, and sweep what was left."""
