"""The users' dead-letter queues: each of their messages becomes a failed ack, so that its batch can end.

A message that matches no item goes to the queue *unmatched* at its fifth receive. In its own queue it would
be hidden for hours, and so in flight; with 120,000 messages in flight a queue gives out no more.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin_cdk.constructs.queues import dead_letter_queue, feed
from fanin_cdk.nag import accept
from fanin_cdk.settings.config import Config

UNMATCHED = "Unmatched"
"""The part whose dead-letter queue has the messages that match no item."""


class DeadLetterQueues(Construct):
    """Makes *fail* consume every configured dead-letter queue.

    A queue must be in the stack's region, with a visibility timeout not below the function's timeout. A queue
    of another account, or with a customer managed key, must grant access to the function's role itself.
    """

    def __init__(self, scope: Construct, id_: str, config: Config, fail: lambda_.Function) -> None:
        super().__init__(scope, id_)
        self.queues = [sqs.Queue.from_queue_arn(self, _id_of(arn), arn) for arn in tenants_by_queue(config)]
        self.fail = fail
        for queue in self.queues:
            feed(queue, fail, config)
        self.kept = (
            self._copies("Kept", "FANIN_KEPT_MESSAGES_QUEUE") if config.keep_dead_letter_messages else None
        )
        self.unmatched = self._unmatched() if self.queues else None

    @property
    def by_name(self) -> Mapping[str, sqs.IQueue]:
        """The queues by name."""
        return {queue.queue_name: queue for queue in self.queues}

    def let_park(self) -> sqs.Queue | None:
        """Make the queue of unmatched messages, and return it; None if it is made already."""
        if self.unmatched is not None:
            return None
        self.unmatched = self._unmatched()
        return self.unmatched

    def _unmatched(self) -> sqs.Queue:
        return self._copies(UNMATCHED, "FANIN_OWN_DEAD_LETTER_QUEUE")

    def _copies(self, id_: str, variable: str) -> sqs.Queue:
        """Return a queue to which the function copies messages before they are deleted."""
        copies = dead_letter_queue(self, id_)
        accept(
            copies,
            "Nothing consumes the copies: they are looked at, and resent, by people",
            "AwsSolutions-SQS3",
        )
        self.fail.add_environment(variable, copies.queue_url)
        send = iam.PolicyStatement(actions=["sqs:SendMessage"], resources=[copies.queue_arn])
        self.fail.add_to_role_policy(send)
        return copies


def tenants_by_queue(config: Config) -> dict[str, str]:
    """Return the tenant of each dead-letter queue's items, by its ARN; empty for the account's tenant."""
    parts = (entry.partition("=") for entry in config.dead_letter_queue_arns)
    return {arn: tenant for arn, _, tenant in parts}


def _id_of(arn: str) -> str:
    """Return a construct id that depends on the queue only, not on its position in the list."""
    return "-".join(arn.split(":")[3:])
