"""The callbacks: a rule on the bus for each, and the queues and the function that call webhooks.

    bus -> rule of a callback -> the user's queue or topic
                              -> queue of the webhook -> call_webhook -> the user's endpoint

An event is retried for a day, and SQS hides it between two attempts: it is in flight, and a queue has at most
120,000 messages in flight. So each webhook has a queue, and one that is down delays no other.


A rule takes the events of the batches that name its callback, of the tenants that may: a client that writes
to the tables itself reaches no other tenant's callback either. The body of a message is the event's detail.
EventBridge uses the resource policies of queues and topics, and no role. Those that the stack does not own
need a policy by their owner: docs/callbacks.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Aws
from aws_cdk import aws_events as events
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs
from constructs import Construct

from fanin.callbacks.model import ALL_TENANTS, RETRIED_FOR, Callback
from fanin.names import EVENT_SOURCE
from fanin_cdk.constructs.functions import Functions, allow_secret
from fanin_cdk.constructs.queues import SourceQueue, dead_letter_queue
from fanin_cdk.event_delivery.deliveries import ATTEMPTS, admit_rules
from fanin_cdk.grants.handlers import CALL_WEBHOOK
from fanin_cdk.nag import accept
from fanin_cdk.settings.config import Config, ConfigError

EVENTS_AT_ONCE = 10
GROUP = "fanin"
"""The message group of a FIFO queue: a rule has a constant one."""


class Callbacks(Construct):
    """The rules of the configured callbacks on *bus*, and what calls the webhooks."""

    def __init__(
        self, scope: Construct, id_: str, config: Config, functions: Functions, bus: events.EventBus
    ) -> None:
        super().__init__(scope, id_)
        self.bus = bus
        self.dead_letter_queue = dead_letter_queue(self, "DeadLetters")
        accept(self.dead_letter_queue, "This is the rules' dead-letter queue", "AwsSolutions-SQS3")
        admit_rules(self.dead_letter_queue, bus)
        self.webhooks = self._webhooks(config, functions) if config.webhooks else {}
        for callback in config.named_callbacks:
            self._rule(callback)

    @property
    def dead_letter_queues(self) -> Mapping[str, sqs.Queue]:
        """The dead-letter queues by name of their part."""
        shared = [each.dead_letter_queue for each in self.webhooks.values()]
        return {"Callbacks": self.dead_letter_queue} | ({"Webhooks": shared[0]} if shared else {})

    @property
    def queues(self) -> Mapping[str, sqs.Queue]:
        """The queues of the webhooks' events, by the name of their part."""
        return {f"Webhooks-{name}": each.queue for name, each in self.webhooks.items()}

    def _webhooks(self, config: Config, functions: Functions) -> Mapping[str, SourceQueue]:
        """Return the queue of each webhook by its name; they share a dead-letter queue and the function."""
        caller, dead = functions.add(CALL_WEBHOOK), dead_letter_queue(self, "WebhooksDeadLetters")
        sources = {each.name: self._webhook(each, caller, dead) for each in config.webhooks}
        for queue in sources.values():
            queue.feed(caller, config, EVENTS_AT_ONCE)
        next(iter(sources.values())).let_isolate(caller)
        return sources

    def _webhook(self, webhook: Callback, caller: lambda_.Function, dead: sqs.Queue) -> SourceQueue:
        # An event that fails for a day is received 24 to 40 times; a message may be received 61 times.
        source = SourceQueue.of_consumer(self, f"Webhooks-{webhook.name}", CALL_WEBHOOK.timeout_seconds, dead)
        admit_rules(source.queue, self.bus)
        if webhook.secret:
            allow_secret(caller, webhook.secret)
        return source

    def _rule(self, callback: Callback) -> events.CfnRule:
        target = self.webhooks[callback.name].queue.queue_arn if callback.url else callback.arn
        fifo = events.CfnRule.SqsParametersProperty(message_group_id=GROUP)
        return events.CfnRule(
            self,
            f"Rule-{callback.name}",
            description=f"Events of batches that name the callback {callback.name}",
            event_bus_name=self.bus.event_bus_name,
            event_pattern=_pattern(callback),
            targets=[
                events.CfnRule.TargetProperty(
                    id="Callback",
                    arn=target,
                    input_path="$.detail",
                    dead_letter_config=events.CfnRule.DeadLetterConfigProperty(
                        arn=self.dead_letter_queue.queue_arn
                    ),
                    retry_policy=events.CfnRule.RetryPolicyProperty(
                        maximum_event_age_in_seconds=int(RETRIED_FOR.total_seconds()),
                        maximum_retry_attempts=ATTEMPTS,
                    ),
                    sqs_parameters=fifo if target.endswith(".fifo") else None,
                )
            ],
        )


def check_place(config: Config, account: str | None, region: str | None) -> None:
    """Raise ConfigError for a queue or topic outside the stack's *account* and *region*, where known."""
    for callback in config.named_callbacks:
        at = callback.arn.split(":")[3:5] if callback.arn else [region, account]
        if at[0] != (region or at[0]) or at[1] != (account or at[1]):
            raise ConfigError(
                f"callback {callback.name}: {callback.arn} is not in {region} and {account}, where the stack "
                "is deployed, and EventBridge reaches no other place; subscribe it to a topic there"
            )


def _pattern(callback: Callback) -> Mapping[str, object]:
    """Return the pattern of the events of batches that name *callback*, of the tenants that may."""
    detail: dict[str, list[str]] = {"callback": [callback.name]}
    if callback.tenants != ALL_TENANTS:
        detail["tenant"] = list(callback.tenants) or [Aws.ACCOUNT_ID]
    return {"source": [EVENT_SOURCE], "detail": detail}
