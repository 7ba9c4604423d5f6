"""The group-batcher itself, over a store, queues and a batch API that fail on purpose, as a seed decides."""
