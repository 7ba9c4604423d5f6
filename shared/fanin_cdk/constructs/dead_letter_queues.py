"""The users' dead-letter queues: each of their messages becomes a failed ack, so that its batch can end."""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk.config import Config
from fanin_cdk.constructs.queues import dead_letter_queue, feed
from fanin_cdk.nag import accept


class DeadLetterQueues(Construct):
    """Makes *fail* consume every configured dead-letter queue.

    A queue must be in the stack's region, with a visibility timeout not below the function's timeout. A queue
    of another account, or with a customer managed key, must grant access to the function's role itself.
    """

    def __init__(self, scope: Construct, id_: str, config: Config, fail: lambda_.Function) -> None:
        super().__init__(scope, id_)
        self.queues = [sqs.Queue.from_queue_arn(self, _id_of(arn), arn) for arn in tenants_by_queue(config)]
        for queue in self.queues:
            feed(queue, fail, config)
        self.kept = self._keep(fail) if config.keep_letters else None

    @property
    def by_name(self) -> Mapping[str, sqs.IQueue]:
        """The queues by name."""
        return {queue.queue_name: queue for queue in self.queues}

    def _keep(self, fail: lambda_.Function) -> sqs.Queue:
        """Return the queue to which *fail* copies each message before it is deleted."""
        kept = dead_letter_queue(self, "Kept")
        accept(
            kept,
            "Nothing consumes the copies: they are looked at, and resent, by people",
            "AwsSolutions-SQS3",
        )
        fail.add_environment("FANIN_KEPT_MESSAGES_QUEUE", kept.queue_url)
        fail.add_to_role_policy(iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[kept.queue_arn]))
        return kept


def tenants_by_queue(config: Config) -> dict[str, str]:
    """Return the tenant of each dead-letter queue's items, by its ARN; empty for the account's tenant."""
    parts = (entry.partition("=") for entry in config.dead_letter_queue_arns)
    return {arn: tenant for arn, _, tenant in parts}


def _id_of(arn: str) -> str:
    """Return a construct id that depends on the queue only, not on its position in the list."""
    return "-".join(arn.split(":")[3:])
