"""The dead-letter queues of users: what arrives there becomes failed acks, so no batch waits for it."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from infra.config import Config
from infra.constructs.queues import feed


class Letters(Construct):
    """Feeds *fail* from every queue that the configuration names; the queues are the users' own.

    A queue must be in the stack's region and hide a message for at least as long as the function may run. One
    of another account, or encrypted under a key of the user's, must grant the function's role by itself.
    """

    def __init__(self, scope: Construct, id_: str, config: Config, fail: lambda_.Function) -> None:
        super().__init__(scope, id_)
        self.queues = [sqs.Queue.from_queue_arn(self, _id_of(arn), arn) for arn in tenants_by_queue(config)]
        for queue in self.queues:
            feed(queue, fail, config)

    @property
    def by_name(self) -> Mapping[str, sqs.IQueue]:
        """The queues by their own names."""
        return {queue.queue_name: queue for queue in self.queues}


def tenants_by_queue(config: Config) -> dict[str, str]:
    """By the ARN of each dead-letter queue, the tenant whose items it has; empty for the account's own."""
    parts = (entry.partition("=") for entry in config.dead_letter_queue_arns)
    return {arn: tenant for arn, _, tenant in parts}


def _id_of(arn: str) -> str:
    """The same queue has the same id, wherever in the list it stands."""
    return "-".join(arn.split(":")[3:])
