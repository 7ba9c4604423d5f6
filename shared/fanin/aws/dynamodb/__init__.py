"""What the stores on DynamoDB share: rows, batches of them, schema versions, and a meter of units."""
