"""The constructs of the Spark jobs, in the project's own stack."""
