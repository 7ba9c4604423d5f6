"""The metrics of AWS that alarms watch; the tests compare them with those that AWS documents."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Duration
from aws_cdk import aws_apigatewayv2 as apigatewayv2
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from fanin_cdk.monitoring.metrics import PERIOD
from fanin_cdk.monitoring.watched import WatchedTable

MINUTE = Duration.minutes(1)
TOTAL = "SUM(METRICS())"
"""The sum of all metrics of an expression; a missing value counts as 0."""


def depth(queue: sqs.IQueue) -> cloudwatch.IMetric:
    """Return the number of messages that can be received."""
    return queue.metric_approximate_number_of_messages_visible(period=MINUTE, statistic="Maximum")


def oldest_message(queue: sqs.IQueue) -> cloudwatch.IMetric:
    """Return the age of the oldest message in seconds."""
    return queue.metric_approximate_age_of_oldest_message(period=PERIOD, statistic="Maximum")


def successes(function: lambda_.Function) -> cloudwatch.IMetric:
    """Return the invocations that did not fail; no value without invocations."""
    return cloudwatch.MathExpression(
        expression="invocations - errors",
        using_metrics={
            "invocations": function.metric_invocations(period=PERIOD),
            "errors": function.metric_errors(period=PERIOD),
        },
        period=PERIOD,
        label="Invocations that succeeded",
    )


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


def conflicts(watched: WatchedTable) -> cloudwatch.IMetric:
    """Return the item-level requests of a table that DynamoDB refused because of another transaction."""
    return cloudwatch.Metric(
        namespace="AWS/DynamoDB",
        metric_name="TransactionConflict",
        dimensions_map={"TableName": watched.table.table_name},
        statistic="Sum",
        period=PERIOD,
    )


def total_of(functions: Sequence[lambda_.Function], name: str) -> cloudwatch.IMetric:
    """Return the sum of a metric, ``Errors`` or ``Throttles``, of at most ten functions together."""
    using = {
        f"{name.lower()}{number}": function.metric(name, statistic="Sum", period=MINUTE)
        for number, function in enumerate(functions)
    }
    return cloudwatch.MathExpression(expression=TOTAL, using_metrics=using, period=MINUTE, label=name)


def stopped_loops(functions: Sequence[lambda_.IFunction]) -> cloudwatch.IMetric:
    """Return the invocations of at most ten functions that Lambda dropped as those of a recursive loop."""
    dropped = [
        each.metric("RecursiveInvocationsDropped", period=MINUTE, statistic="Sum") for each in functions
    ]
    if len(dropped) == 1:
        return dropped[0]
    using = {f"dropped{number}": metric for number, metric in enumerate(dropped)}
    return cloudwatch.MathExpression(
        expression=TOTAL, using_metrics=using, period=MINUTE, label="Stopped loops"
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
