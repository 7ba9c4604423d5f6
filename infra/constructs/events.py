"""The ending event: a batch's stream record becomes one event on the bus, which says that it has arrived.

    Batches stream -> Pipe [filters -> describe_event] -> bus; hopeless records -> dead-letter queue
    bus -> rule -> confirm_event, which notes the arrival among the batch's rows

Two kinds of records pass. One is the step that ends a batch. The other is the coming of a notice: the sweeper
writes one where no confirmation came, and so does whoever asks for the event once more. A stream keeps its
records for 24 hours; a notice is a new record, so an event can be sent for as long as its batch is kept.

What holds, by the documentation of EventBridge Pipes (user guide: enrichment, input transformation,
targets, batching; API reference: PipeTargetEventBridgeEventBusParameters). None of it has been seen on an
account yet.

* The enrichment is always invoked with a LIST, of one record too: the stream records that passed the
  filter. Its answer goes to the target as it is, and of a list each element is one event. ``[]`` calls no
  target, while ``[{}]`` sends an empty event. A bus takes ten: of a longer list nothing is sent. So a
  batch is at most ten records, and describe_event never answers more than it was given. A record whose
  batch has not ended is passed over, so the answer may be shorter.
* Without an input template an element IS the event's ``detail``. So **describe_event returns a list of
  detail objects**, one a record, in order: ``[{"eventId": ..., "batchId": ..., ...}, ...]``. There is no
  template, so no text of a user is ever pasted into JSON.
* ``Source`` and ``DetailType`` are parameters of the target, not parts of the payload. ``Source`` is
  static. ``DetailType`` is a JSON path (as may be every string of a target's parameters but
  ``EndpointId``), read from the payload, which after an enrichment is its answer: each detail names its own
  type in ``detailType``.
* If the enrichment raises, its whole batch is tried again, in halves. If the bus refuses some events,
  those go through the whole Pipe again, the enrichment too. After all tries the record's place in the
  stream (not the record, which the stream keeps for 24 hours) goes to the dead-letter queue.
* Delivery is at least once. The transition itself happens once, by the conditional write, and ``eventId``
  is stable: a consumer that must act once compares it.
* A rule's failures are two: EventBridge cannot hand the event to Lambda, or the function fails after it
  was accepted. Each has its bounded retries, and both end in the same dead-letter queue.
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

from infra.config import Config
from infra.constructs.functions import log_group
from infra.constructs.queues import dead_letter_queue
from infra.constructs.tables import READ_STREAM, stream_arn
from infra.nag import accept

EVENT_SOURCE = "fanin"
DETAIL_TYPE = "$.detailType"
DETAIL_TYPES = ("BatchCompleted", "BatchCancelled", "BatchTimedOut", "BatchExpired")
# Nested JSON, not dotted keys: a pattern takes a key literally.
ENDING: dict[str, Any] = {
    "eventName": ["MODIFY"],
    "dynamodb": {
        "NewImage": {
            "sk": {"S": ["batch"]},
            "state": {"S": ["COMPLETE", "CANCELLED", "TIMED_OUT", "EXPIRED"]},
        },
        # Without it every later touch of an ended batch would send its event again.
        "OldImage": {"state": {"S": ["OPEN", "CLOSED"]}},
    },
}
NOTICE: dict[str, Any] = {
    "eventName": ["INSERT"],
    "dynamodb": {"NewImage": {"sk": {"S": [{"prefix": "notice#"}]}}},
}


class EndingEvents(Construct):
    """The bus and the Pipe that puts the ends of batches on it."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, batches: dynamodb.Table, describe: lambda_.Function
    ) -> None:
        super().__init__(scope, id_)
        self.bus = events.EventBus(self, "Bus")
        self.dead_letters = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letters, "This is the Pipe's dead-letter queue", "AwsSolutions-SQS3")
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
        # A Pipe that starts before its role may read the stream fails for good.
        pipe.node.add_dependency(role)
        return pipe

    def _source(self) -> pipes.CfnPipe.PipeSourceParametersProperty:
        filters = [pipes.CfnPipe.FilterProperty(pattern=json.dumps(each)) for each in (ENDING, NOTICE)]
        return pipes.CfnPipe.PipeSourceParametersProperty(
            filter_criteria=pipes.CfnPipe.FilterCriteriaProperty(filters=filters),
            dynamo_db_stream_parameters=pipes.CfnPipe.PipeSourceDynamoDBStreamParametersProperty(
                starting_position="TRIM_HORIZON",
                batch_size=10,
                # Then the record is set aside: behind a bad one its whole shard waits.
                maximum_retry_attempts=20,
                on_partial_batch_item_failure="AUTOMATIC_BISECT",
                dead_letter_config=pipes.CfnPipe.DeadLetterConfigProperty(arn=self.dead_letters.queue_arn),
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
            (("sqs:SendMessage",), self.dead_letters.queue_arn),
            (("logs:CreateLogStream", "logs:PutLogEvents"), self.log.log_group_arn),
        )
        for actions, resource in grants:
            role.add_to_policy(iam.PolicyStatement(actions=list(actions), resources=[resource]))
        return role


_TARGET = pipes.CfnPipe.PipeTargetParametersProperty(
    event_bridge_event_bus_parameters=pipes.CfnPipe.PipeTargetEventBridgeEventBusParametersProperty(
        source=EVENT_SOURCE, detail_type=DETAIL_TYPE
    )
)


def _logged_to(group: logs.LogGroup) -> pipes.CfnPipe.PipeLogConfigurationProperty:
    """Errors only, and never the payload: it holds what users wrote."""
    return pipes.CfnPipe.PipeLogConfigurationProperty(
        level="ERROR",
        cloudwatch_logs_log_destination=pipes.CfnPipe.CloudwatchLogsLogDestinationProperty(
            log_group_arn=group.log_group_arn
        ),
    )
