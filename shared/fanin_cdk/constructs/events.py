"""The ending event: a batch's stream record becomes one event on the bus, and the bus confirms it.

    Batches stream -> Pipe [filters -> describe_event] -> bus; records that keep failing -> dead-letter queue
    bus -> rule -> confirm_event, which records the arrival in the batches table

The filters pass two kinds of records. One is the transition that ends a batch. The other is the insertion of
a notice: the sweeper writes one for an event that was not confirmed, and ``notify_batch`` writes one for a
caller that requests the event again. A stream keeps its records for 24 hours; a notice is a new record, so an
event can be sent as long as its batch is kept.

The documentation of EventBridge Pipes says (user guide: enrichment, input transformation, targets, batching;
API reference: PipeTargetEventBridgeEventBusParameters); it has not been tried in an account yet:

* The enrichment is always invoked with a list of the stream records that passed the filter, even for one
  record. Its result goes to the target unchanged; each element of a list is one event. ``[]`` calls no
  target; ``[{}]`` sends an empty event. A bus takes ten events: of a longer list none is sent. So a batch has
  at most ten records, and describe_event returns at most one event for each. It skips a record whose batch
  has not ended.
* Without an input template an element is the event's ``detail``. So **describe_event returns a list of
  detail objects**, one for each record, in order: ``[{"eventId": ..., "batchId": ..., ...}, ...]``. There is
  no template, so no user's text is inserted into JSON.
* ``Source`` and ``DetailType`` are parameters of the target, not parts of the payload. ``Source`` is
  static. ``DetailType`` is a JSON path (allowed in every string of a target's parameters but ``EndpointId``)
  into the payload, here the enrichment's result: each detail names its own type in ``detailType``.
* If the enrichment raises, its batch is retried, in halves. If the bus refuses some events, those go through
  the Pipe again, including the enrichment. After the last retry the record's position in the stream (not the
  record, which the stream keeps for 24 hours) goes to the dead-letter queue.
* Delivery is at least once. The transition happens once, by a conditional write, and ``eventId`` is stable:
  a consumer that must act once compares it.
* A rule fails in two ways: EventBridge cannot deliver the event to Lambda, or the function fails afterwards.
  Each has bounded retries and the same dead-letter queue.
"""

from __future__ import annotations

import json
from typing import Any

from aws_cdk import Aws
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_pipes as pipes
from constructs import Construct

from fanin.names import (
    BATCH_CANCELLED,
    BATCH_COMPLETED,
    BATCH_EXPIRED,
    BATCH_FAILED,
    BATCH_TIMED_OUT,
    EVENT_SOURCE,
)
from fanin_cdk.config import Config
from fanin_cdk.constructs.functions import log_group
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.constructs.tables import READ_STREAM, stream_arn
from fanin_cdk.nag import accept

DETAIL_TYPE = "$.detailType"
DETAIL_TYPES = (BATCH_COMPLETED, BATCH_FAILED, BATCH_CANCELLED, BATCH_TIMED_OUT, BATCH_EXPIRED)
# Nested JSON, not dotted keys: a pattern takes a key literally.
ENDING: dict[str, Any] = {
    "eventName": ["MODIFY"],
    "dynamodb": {
        "NewImage": {
            "sk": {"S": ["batch"]},
            "state": {"S": ["COMPLETE", "FAILED", "CANCELLED", "TIMED_OUT", "EXPIRED"]},
        },
        # Without it every later update of an ended batch would send its event again.
        "OldImage": {"state": {"S": ["OPEN", "CLOSED"]}},
    },
}
NOTICE: dict[str, Any] = {
    "eventName": ["INSERT"],
    "dynamodb": {"NewImage": {"sk": {"S": [{"prefix": "notice#"}]}}},
}


class EndingEvents(Construct):
    """The bus, and the Pipe that sends ending events to it."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, batches: dynamodb.ITable, describe: lambda_.Function
    ) -> None:
        super().__init__(scope, id_)
        self.bus = events.EventBus(self, "Bus", event_bus_name=_bus_name(self))
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the Pipe's dead-letter queue", "AwsSolutions-SQS3")
        self.batches = batches
        self.describe = describe
        self.log = log_group(self, "PipeLog", config)
        self.pipe = self._pipe(self._role())

    def _pipe(self, role: iam.Role) -> pipes.CfnPipe:
        pipe = pipes.CfnPipe(
            self,
            "Pipe",
            role_arn=role.role_arn,
            source=stream_arn(self.batches),
            source_parameters=self._source(),
            enrichment=self.describe.function_arn,
            target=self.bus.event_bus_arn,
            target_parameters=_TARGET,
            log_configuration=_logged_to(self.log),
        )
        # A Pipe that is created before its role may read the stream stays failed.
        pipe.node.add_dependency(role)
        return pipe

    def _source(self) -> pipes.CfnPipe.PipeSourceParametersProperty:
        filters = [pipes.CfnPipe.FilterProperty(pattern=json.dumps(each)) for each in (ENDING, NOTICE)]
        return pipes.CfnPipe.PipeSourceParametersProperty(
            filter_criteria=pipes.CfnPipe.FilterCriteriaProperty(filters=filters),
            dynamo_db_stream_parameters=pipes.CfnPipe.PipeSourceDynamoDBStreamParametersProperty(
                starting_position="TRIM_HORIZON",
                batch_size=10,
                # A failing record blocks its shard until it goes to the dead-letter queue.
                maximum_retry_attempts=20,
                on_partial_batch_item_failure="AUTOMATIC_BISECT",
                dead_letter_config=pipes.CfnPipe.DeadLetterConfigProperty(
                    arn=self.dead_letter_queue.queue_arn
                ),
            ),
        )

    def _role(self) -> iam.Role:
        ours = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
        pipes_service = iam.ServicePrincipal("pipes.amazonaws.com", conditions=ours)
        role = iam.Role(self, "PipeRole", assumed_by=pipes_service)
        grants = (
            (READ_STREAM, stream_arn(self.batches)),
            (("lambda:InvokeFunction",), self.describe.function_arn),
            (("events:PutEvents",), self.bus.event_bus_arn),
            (("sqs:SendMessage",), self.dead_letter_queue.queue_arn),
            (("logs:CreateLogStream", "logs:PutLogEvents"), self.log.log_group_arn),
        )
        for actions, resource in grants:
            role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))
        return role


def _bus_name(scope: Construct) -> str:
    """Return a name that no other stack of the account and region has, unlike the CDK's, which has the id."""
    return f"{Aws.STACK_NAME}-{scope.node.addr[-8:]}"


_TARGET = pipes.CfnPipe.PipeTargetParametersProperty(
    event_bridge_event_bus_parameters=pipes.CfnPipe.PipeTargetEventBridgeEventBusParametersProperty(
        source=EVENT_SOURCE, detail_type=DETAIL_TYPE
    )
)


def _logged_to(group: logs.LogGroup) -> pipes.CfnPipe.PipeLogConfigurationProperty:
    """Return a log configuration for errors without the payload, which holds users' data."""
    return pipes.CfnPipe.PipeLogConfigurationProperty(
        level="ERROR",
        cloudwatch_logs_log_destination=pipes.CfnPipe.CloudwatchLogsLogDestinationProperty(
            log_group_arn=group.log_group_arn
        ),
    )
