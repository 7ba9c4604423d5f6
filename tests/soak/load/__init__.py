"""What a soak does: batches, tasks, jobs and Spark jobs, and the ledger of what it expects of them."""
