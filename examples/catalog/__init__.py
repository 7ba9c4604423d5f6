"""The demo: a real catalog through Spark, SQS and Lambda to exactly one completion."""
