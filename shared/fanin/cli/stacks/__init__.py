"""The verbs of stacks: the local run, and the template to deploy."""
