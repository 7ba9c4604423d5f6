"""The constructs of the project's own stack alone: the Spark jobs."""
