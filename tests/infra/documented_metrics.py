"""CloudWatch metrics as AWS documents them: the dimensions that select a series, and useful statistics."""

from __future__ import annotations

from dataclasses import dataclass

Dimensions = frozenset[str]
SUM, MAXIMUM = frozenset({"Sum"}), frozenset({"Maximum"})
FUNCTION = frozenset({frozenset({"FunctionName"})})
QUEUE = frozenset({frozenset({"QueueName"})})
TABLE_OR_INDEX = frozenset({frozenset({"TableName"}), frozenset({"TableName", "GlobalSecondaryIndexName"})})
API_OR_STAGE = frozenset({frozenset({"ApiId"}), frozenset({"ApiId", "Stage"})})


@dataclass(frozen=True)
class Documented:
    """*page*: the title of the page. *unit*: that of a threshold on the metric alone."""

    page: str
    dimensions: frozenset[Dimensions]
    statistics: frozenset[str]
    unit: str = "count"


LAMBDA = "AWS Lambda: Types of metrics for Lambda functions"
DYNAMODB = "Amazon DynamoDB: CloudWatch throttling metrics; DynamoDB metrics and dimensions"
SQS = "Amazon SQS: Available CloudWatch metrics for Amazon SQS"
API = "Amazon API Gateway: Monitor CloudWatch metrics for HTTP APIs"

METRICS = {
    ("AWS/Lambda", "Errors"): Documented(LAMBDA, FUNCTION, SUM),
    ("AWS/Lambda", "Invocations"): Documented(LAMBDA, FUNCTION, SUM),
    ("AWS/Lambda", "Throttles"): Documented(LAMBDA, FUNCTION, SUM),
    ("AWS/Lambda", "RecursiveInvocationsDropped"): Documented(LAMBDA, FUNCTION, SUM),
    ("AWS/Lambda", "IteratorAge"): Documented(LAMBDA, FUNCTION, MAXIMUM, "milliseconds"),
    # The dimension TableName alone leaves out the indexes.
    ("AWS/DynamoDB", "ReadThrottleEvents"): Documented(DYNAMODB, TABLE_OR_INDEX, SUM),
    ("AWS/DynamoDB", "WriteThrottleEvents"): Documented(DYNAMODB, TABLE_OR_INDEX, SUM),
    ("AWS/SQS", "ApproximateAgeOfOldestMessage"): Documented(SQS, QUEUE, MAXIMUM, "seconds"),
    ("AWS/SQS", "ApproximateNumberOfMessagesVisible"): Documented(SQS, QUEUE, MAXIMUM),
    # Those of REST APIs have other names: 5XXError.
    ("AWS/ApiGateway", "5xx"): Documented(API, API_OR_STAGE, SUM),
    ("AWS/ApiGateway", "Count"): Documented(API, API_OR_STAGE, SUM),
    ("AWS/ApiGateway", "Latency"): Documented(API, API_OR_STAGE, frozenset({"p99"}), "milliseconds"),
}
