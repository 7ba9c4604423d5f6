"""The constructs of the project's own stack alone: the demo and the Spark jobs."""
