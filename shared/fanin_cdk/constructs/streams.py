"""A function that reads the stream of a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_lambda_event_sources as sources
from aws_cdk import aws_sqs as sqs

from fanin_cdk.constructs.tables import READ_STREAM

# A stream keeps its records for 24 hours, so 12 hours are left to read them again.
TRIED_FOR = Duration.hours(12)


def follow(
    function: lambda_.Function,
    id_: str,
    stream: str,
    dead_letter_queue: sqs.Queue,
    *,
    at_once: int,
    window: Duration | None = None,
    pattern: Mapping[str, Any] | None = None,
) -> None:
    """Let *function* read the *stream* from its beginning, at most *at_once* records in a delivery.

    *pattern*: of the records that are delivered. A delivery that fails is retried in halves, for 12 hours.
    Then its position in the stream goes to the dead-letter queue.
    """
    read = iam.PolicyStatement(actions=list(READ_STREAM), resources=[stream])
    function.add_to_role_policy(read)
    function.add_event_source_mapping(
        id_,
        event_source_arn=stream,
        starting_position=lambda_.StartingPosition.TRIM_HORIZON,
        batch_size=at_once,
        max_batching_window=window,
        bisect_batch_on_error=True,
        report_batch_item_failures=True,
        max_record_age=TRIED_FOR,
        on_failure=sources.SqsDlq(dead_letter_queue),
        filters=None if pattern is None else [dict(lambda_.FilterCriteria.filter(dict(pattern)))],
    )
