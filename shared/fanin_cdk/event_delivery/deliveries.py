"""Rules for ending events of batches, to targets of the user.

bus -> rule -> the target
            -> dead-letter queue, after 24 hours of retries
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jsii
from aws_cdk import Aws, Fn
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sqs as sqs
from aws_cdk.interfaces.aws_events import IRuleRef
from constructs import Construct

from fanin.names import EVENT_SOURCE
from fanin_cdk.constructs.queues import dead_letter_queue
from fanin_cdk.nag import accept

ATTEMPTS = 185
"""The maximum of EventBridge, which ends its retries after 24 hours."""
RETRIED_FOR_SECONDS = 24 * 3600


class Deliveries(Construct):
    """The rules on *bus*, and the queue of the events that a target did not take."""

    def __init__(self, scope: Construct, id_: str, bus: events.EventBus) -> None:
        super().__init__(scope, id_)
        self.bus = bus
        self.rules = 0
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the rules' dead-letter queue", "AwsSolutions-SQS3")
        admit_rules(self.dead_letter_queue, bus)

    def add(
        self,
        target: events.IRuleTarget,
        detail_types: Sequence[str],
        detail: Mapping[str, Any],
        id_: str | None = None,
        scope: Construct | None = None,
    ) -> events.Rule:
        """Return a new rule of *id_*; without one, its id is its number. *scope*: in another stack."""
        self.rules += 1
        number = f"Rule{self.rules}" if scope is None else f"Fanin{self.node.addr[-8:]}Rule{self.rules}"
        return events.Rule(
            scope or self,
            id_ or number,
            event_bus=self.bus,
            event_pattern=events.EventPattern(
                source=[EVENT_SOURCE], detail_type=list(detail_types), detail=dict(detail) or None
            ),
            targets=[Retried(target, self.dead_letter_queue.queue_arn)],
        )


@jsii.implements(events.IRuleTarget)
class Retried:
    """*target* with retries and a dead-letter queue, where it names none itself."""

    def __init__(self, target: events.IRuleTarget, dead_letter_queue_arn: str) -> None:
        self.target = target
        self.dead_letter_queue_arn = dead_letter_queue_arn

    def bind(self, rule: IRuleRef, id: str | None = None) -> events.RuleTargetConfig:
        """Return what *target* is bound to, with what it left open."""
        bound = self.target.bind(rule, id)
        given = {name: getattr(bound, name) for name in _NAMES}
        retried = events.CfnRule.RetryPolicyProperty(
            maximum_event_age_in_seconds=RETRIED_FOR_SECONDS, maximum_retry_attempts=ATTEMPTS
        )
        lost = events.CfnRule.DeadLetterConfigProperty(arn=self.dead_letter_queue_arn)
        given["retry_policy"] = given["retry_policy"] or retried
        given["dead_letter_config"] = given["dead_letter_config"] or lost
        return events.RuleTargetConfig(**given)


_NAMES = tuple(name for name, each in vars(events.RuleTargetConfig).items() if isinstance(each, property))
"""The properties of a bound target."""


def admit_rules(queue: sqs.Queue, bus: events.EventBus) -> None:
    """Let the rules of *bus* send to *queue*: one statement, because SQS takes 20 in a policy."""
    prefix = f"arn:{Aws.PARTITION}:events:{Aws.REGION}:{Aws.ACCOUNT_ID}:rule/"
    rules = Fn.join("", [prefix, bus.event_bus_name, "/*"])
    queue.add_to_resource_policy(
        iam.PolicyStatement(
            actions=["sqs:SendMessage"],
            principals=[iam.ServicePrincipal("events.amazonaws.com")],
            resources=[queue.queue_arn],
            conditions={
                "ArnLike": {"aws:SourceArn": rules},
                "StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID},
            },
        )
    )
