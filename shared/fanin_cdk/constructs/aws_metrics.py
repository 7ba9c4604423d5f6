"""The metrics of AWS that alarms watch; the tests compare them with those that AWS documents."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_pipes as pipes
from aws_cdk import aws_sqs as sqs

from fanin_cdk.constructs.metrics import PERIOD
from fanin_cdk.constructs.watched import WatchedTable

MINUTE = Duration.minutes(1)
TOTAL = "SUM(METRICS())"
"""The sum of all metrics of an expression; a missing value counts as 0."""


def depth(queue: sqs.IQueue) -> cloudwatch.IMetric:
    """Return the number of messages that can be received."""
    return queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")


def oldest_message(queue: sqs.IQueue) -> cloudwatch.IMetric:
    """Return the age of the oldest message in seconds."""
    return queue.metric_approximate_age_of_oldest_message(period=PERIOD, statistic="Maximum")


def iterator_age(reader: lambda_.Function) -> cloudwatch.IMetric:
    """Return the age, in milliseconds, of the last stream record of a delivery to *reader*."""
    return reader.metric("IteratorAge", period=PERIOD, statistic="Maximum")


def throttles_of_table(watched: WatchedTable) -> cloudwatch.IMetric:
    """Return the throttled reads and writes of a table and its indexes.

    An alarm has at most ten metrics: a table with at most four indexes.
    """
    table = watched.table
    dimensions = [{"TableName": table.table_name}]
    dimensions += [{**dimensions[0], "GlobalSecondaryIndexName": name} for name in watched.indexes]
    using = {
        f"{kind.lower()}{number}": _throttle_events(kind, each)
        for kind in ("Read", "Write")
        for number, each in enumerate(dimensions)
    }
    return cloudwatch.MathExpression(
        expression=TOTAL, using_metrics=using, period=MINUTE, label="Throttled reads and writes"
    )


def _throttle_events(kind: str, dimensions: dict[str, str]) -> cloudwatch.IMetric:
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name=f"{kind}ThrottleEvents",
        dimensions_map=dimensions,
        statistic="Sum",
        period=MINUTE,
    )


def errors_of(functions: Sequence[lambda_.Function]) -> cloudwatch.IMetric:
    """Return the failed invocations of at most ten functions together."""
    using = {
        f"errors{number}": function.metric_errors(period=MINUTE) for number, function in enumerate(functions)
    }
    return cloudwatch.MathExpression(
        expression=TOTAL, using_metrics=using, period=MINUTE, label="Failed invocations"
    )


def server_errors(api: apigatewayv2.HttpApi) -> cloudwatch.IMetric:
    """Return the percentage of requests that were answered with 5xx; no value without requests."""
    return cloudwatch.MathExpression(
        expression="100 * errors / requests",
        using_metrics={
            "errors": api.metric_server_error(period=PERIOD, statistic="Sum"),
            "requests": api.metric_count(period=PERIOD, statistic="Sum"),
        },
        period=PERIOD,
        label="5xx, percent",
    )


def latency(api: apigatewayv2.HttpApi) -> cloudwatch.IMetric:
    """Return the milliseconds within which 99 % of the requests were answered."""
    return api.metric_latency(period=PERIOD, statistic="p99")


def failed_executions(pipe: pipes.CfnPipe) -> cloudwatch.IMetric:
    """Return the executions of *pipe* that failed, timed out or were throttled."""
    kinds = ("Failed", "Timeout", "Throttled")
    using: dict[str, cloudwatch.IMetric] = {
        kind.lower(): cloudwatch.Metric(
            namespace="AWS/EventBridge/Pipes",
            metric_name=f"Execution{kind}",
            dimensions_map={"PipeName": pipe.ref},
            statistic="Sum",
            period=PERIOD,
        )
        for kind in kinds
    }
    return cloudwatch.MathExpression(
        expression=TOTAL, using_metrics=using, period=PERIOD, label="Failed executions"
    )
