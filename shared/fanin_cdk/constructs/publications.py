"""Publications: the queue and the function that publish objects of S3 part by part.

    POST /v1/publications ----> queue -> continue_publication -> the queue of the source
    S3 -> default bus -> rule -> ^                |
                                 +----------------+  after some parts, until the object is published

Deployed if ``publications`` names sources and their queues: their objects may be read, and their queues
written to, by this function alone, and no others; the function of the API may list them. The rule is for
entries with ``onCreated``; it takes more events than those of their objects where they name several buckets,
and the function ignores these.

The message comes back to its function by design, so Lambda's detection of recursive loops lets it pass
(``Handler.loops``). After a crash it comes again when its visibility timeout has passed, after 12 minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from aws_cdk import Aws, Duration
from aws_cdk import aws_events as events
from aws_cdk import aws_events_targets as targets
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin.s3_publications.allowing import Allowed
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.event_delivery.deliveries import ATTEMPTS, RETRIED_FOR_SECONDS
from fanin_cdk.grants.handlers import CONTINUE_PUBLICATION
from fanin_cdk.nag import accept_wildcards
from fanin_cdk.settings.config import Config

# A message is an invocation of its own: a part takes seconds.
MESSAGES_AT_ONCE = 1
SEND = ("sqs:GetQueueUrl", "sqs:SendMessage")
STARTS = "api.write_batches"
"""The function that starts publications."""


class PublicationParts(Construct):
    """Publishes what the settings allow; *queue* is watched by alarms."""

    def __init__(self, scope: Construct, id_: str, config: Config, functions: Functions) -> None:
        super().__init__(scope, id_)
        allowed = config.allowed_publications
        self.queue = SourceQueue.of_consumer(self, "Parts", CONTINUE_PUBLICATION.timeout_seconds)
        self.function = functions.add(CONTINUE_PUBLICATION)
        for each in (self.function, *functions.of(STARTS)):
            self._let_send_on(each)
            _let_list(each, allowed)
        self._let_read(allowed)
        _allow(self.function, SEND, sorted({each.queue for each in allowed}))
        self.queue.feed(self.function, config, MESSAGES_AT_ONCE)
        if created := [each for each in allowed if each.on_created]:
            self._rule(created)

    def _let_send_on(self, function: lambda_.Function) -> None:
        """Let *function* send the messages that continue publications."""
        function.add_environment("FANIN_PUBLICATIONS_QUEUE_URL", self.queue.queue.queue_url)
        _allow(function, ("sqs:SendMessage",), [self.queue.queue.queue_arn])

    def _let_read(self, allowed: Sequence[Allowed]) -> None:
        places = {each.objects for each in allowed}
        arns = sorted(f"arn:{Aws.PARTITION}:s3:::{bucket}/{prefix}*" for bucket, prefix in places)
        _allow(self.function, ("s3:GetObject",), arns)
        if self.function.role:
            reason = "Of an object's key only the beginning is known before"
            accept_wildcards(self.function.role, reason, *arns)

    def _rule(self, created: Sequence[Allowed]) -> events.Rule:
        target = targets.SqsQueue(
            self.queue.queue,
            dead_letter_queue=self.queue.dead_letter_queue,
            retry_attempts=ATTEMPTS,
            max_event_age=Duration.seconds(RETRIED_FOR_SECONDS),
        )
        pattern = events.EventPattern(
            source=["aws.s3"], detail_type=["Object Created"], detail=_detail(created)
        )
        return events.Rule(self, "Created", event_pattern=pattern, targets=[target])


def _let_list(function: lambda_.Function, allowed: Sequence[Allowed]) -> None:
    """Let *function* look for the objects: without it, S3 answers the read of a missing one with 403."""
    places = [each.objects for each in allowed]
    for bucket in sorted({bucket for bucket, _ in places}):
        keys = sorted({f"{prefix}*" for each, prefix in places if each == bucket})
        function.add_to_role_policy(
            iam.PolicyStatement(
                actions=["s3:ListBucket"],
                resources=[f"arn:{Aws.PARTITION}:s3:::{bucket}"],
                conditions={"StringLike": {"s3:prefix": keys}},
            )
        )


def _detail(created: Sequence[Allowed]) -> Mapping[str, Any]:
    """Return the pattern of the objects that begin with one of the prefixes, in one of the buckets."""
    places = [each.objects for each in created]
    prefixes = sorted({prefix for _, prefix in places})
    any_key: list[Any] = [{"exists": True}]
    keys = any_key if "" in prefixes else [{"prefix": each} for each in prefixes]
    return {"bucket": {"name": sorted({bucket for bucket, _ in places})}, "object": {"key": keys}}


def _allow(function: lambda_.Function, actions: Sequence[str], resources: Sequence[str]) -> None:
    function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))
