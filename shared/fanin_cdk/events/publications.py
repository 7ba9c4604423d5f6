"""Publications: the queue and the function that publish objects of S3 part by part.

    POST /v1/publications -> queue -> continue_publication -> the queue of the source
                               ^                |
                               +----------------+  after some parts, until the object is published

Deployed if ``publications`` names sources and their queues: their objects may be read, and their queues
written to, and no others. The message comes back to its function by design, so Lambda's detection of
recursive loops lets it pass (``Handler.loops``). After a crash it comes again when its visibility timeout has
passed, after 12 minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Aws
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from fanin_cdk.constructs.api import Served
from fanin_cdk.constructs.functions import Functions
from fanin_cdk.constructs.queues import SourceQueue
from fanin_cdk.grants.publication_handlers import CONTINUE_PUBLICATION, PUBLICATION_API
from fanin_cdk.nag import accept_wildcards
from fanin_cdk.settings.config import Config
from fanin_cdk.settings.quotas import served

# A message is an invocation of its own: a part takes seconds.
MESSAGES_AT_ONCE = 1
SEND = ("sqs:GetQueueUrl", "sqs:SendMessage")


class PublicationParts(Construct):
    """Publishes what the settings allow; *queue* is watched by alarms. *routes*: its part of the API."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, functions: Functions, *, has_api: bool = True
    ) -> None:
        super().__init__(scope, id_)
        self.config = config
        timeout = CONTINUE_PUBLICATION.timeout_seconds
        self.queue = SourceQueue.of_consumer(self, "Parts", timeout)
        self.environment = {"FANIN_PUBLICATIONS_QUEUE_URL": self.queue.queue.queue_url}
        self.function = functions.add(CONTINUE_PUBLICATION, self.environment)
        self._let_read_and_send(self.function)
        _allow(self.function, SEND, sorted({each.queue for each in config.allowed_publications}))
        self.queue.feed(self.function, config, MESSAGES_AT_ONCE)
        self.routes: Served = self._routes(functions) if has_api else []

    def _routes(self, functions: Functions) -> Served:
        made = [
            (functions.add(each, self.environment), each.routes)
            for each in served(PUBLICATION_API, self.config)
        ]
        for function, _ in made:
            self._let_read_and_send(function)
        return made

    def _let_read_and_send(self, function: lambda_.Function) -> None:
        """Let *function* read the sources, and send the messages that continue publications."""
        places = [each.objects for each in self.config.allowed_publications]
        arns = sorted({f"arn:{Aws.PARTITION}:s3:::{bucket}/{prefix}*" for bucket, prefix in places})
        _allow(function, ("s3:GetObject",), arns)
        _allow(function, ("sqs:SendMessage",), [self.queue.queue.queue_arn])
        if function.role:
            accept_wildcards(function.role, "Of an object's key only the beginning is known before", *arns)


def _allow(function: lambda_.Function, actions: Sequence[str], resources: Sequence[str]) -> None:
    function.add_to_role_policy(iam.PolicyStatement(actions=list(actions), resources=list(resources)))
