"""What the demo runs: the Spark job, the batch API, and its parts of the deployed stack."""
