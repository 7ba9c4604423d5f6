"""Connections to queues and state machines in other stacks than the tracker's.

A stack whose functions use the tracker depends on the tracker's stack, so nothing of the tracker's stack may
refer to it: CloudFormation deploys no circle. What connects them is made in the other stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct, IConstruct

from fanin_cdk.constructs.queues import feeding
from fanin_cdk.settings.concurrency import shares
from fanin_cdk.settings.config import Config

CONSUME = ("sqs:ChangeMessageVisibility", "sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage")


def is_elsewhere(one: IConstruct, other: IConstruct) -> bool:
    """Return whether the two are in different stacks."""
    return Stack.of(one).node.path != Stack.of(other).node.path


def allow(owner: IConstruct, function: lambda_.Function, actions: Sequence[str], arn: str) -> iam.Policy:
    """Allow *function* the *actions* on *arn*, which *owner* has, by a policy in the stack of *owner*."""
    statement = iam.PolicyStatement(actions=list(actions), resources=[arn])
    scope, roles = _place(owner, function), [_role_of(function)]
    return iam.Policy(scope, f"Allow{len(scope.node.children)}", statements=[statement], roles=roles)


def feed(queue: sqs.IQueue, consumer: lambda_.Function, config: Config) -> lambda_.CfnEventSourceMapping:
    """Add *queue* as event source of *consumer*, in the stack of *queue*."""
    allowed = [allow(queue, consumer, CONSUME, queue.queue_arn)]
    if queue.encryption_master_key:
        allowed.append(allow(queue, consumer, ["kms:Decrypt"], queue.encryption_master_key.key_arn))
    mapping = lambda_.EventSourceMapping(
        _place(queue, consumer),
        "Source",
        target=consumer,
        event_source_arn=queue.queue_arn,
        max_concurrency=shares(config).consumer,
        **feeding(queue),
    )
    mapping.node.add_dependency(*allowed)
    resource: Any = mapping.node.default_child
    return resource


def _place(owner: IConstruct, function: lambda_.Function) -> Construct:
    """Return the construct in the stack of *owner* for what connects it to *function*."""
    id_ = f"Fanin{owner.node.addr[-8:]}{function.node.addr[-8:]}"
    stack = Stack.of(owner)
    found: Any = stack.node.try_find_child(id_)
    return found or Construct(stack, id_)


def _role_of(function: lambda_.Function) -> Any:
    return function.role
