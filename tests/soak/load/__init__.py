"""What a schedule does: batches, tasks and jobs, and the ledger of what it expects of them."""
