"""CDK constructs: the tracker, the group-batcher and the work queues, in a stack of yours."""
