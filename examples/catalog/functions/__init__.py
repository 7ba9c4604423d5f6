"""The functions of the catalog: a consumer of the SQS queue, and one of the work queue."""
