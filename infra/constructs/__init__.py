"""The constructs of the project's own stack alone: the Spark jobs, and the topic of its alarms."""
