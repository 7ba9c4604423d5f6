"""What `consume` requires of a queue and its worker, checked at synthesis.

The visibility timeout is at least six times the function's timeout, as the AWS Lambda Developer Guide
recommends ("Using Lambda with Amazon SQS"): a throttled batch is retried while its messages are hidden.
Without a dead-letter queue a message that always fails is received until its retention ends, and its batch
stays open.
"""

from __future__ import annotations

from typing import Any, cast

from aws_cdk import Stack
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sqs as sqs

from fanin.names import DOORBELL_VISIBILITY_SECONDS
from fanin_cdk.grants.equipping import function_of
from fanin_cdk.grants.handlers import DEAD_LETTER_HANDLER
from fanin_cdk.settings.concurrency import CONSUMER_MIN
from fanin_cdk.settings.config import ConfigError

TIMEOUTS = 6
VISIBILITY = 30
"""The visibility timeout of a queue that names none, in seconds: SQS's default."""
TIMEOUT = 3
"""The timeout of a function that names none, in seconds: Lambda's default."""


def check_visibility(queue: sqs.IQueue, worker: lambda_.IFunction) -> None:
    """Raise ConfigError if messages of *queue* are hidden for less than six timeouts of *worker*."""
    hidden, timeout = visibility_of(queue), _timeout_of(worker)
    if hidden is not None and timeout is not None and hidden < TIMEOUTS * timeout:
        raise ConfigError(
            f"consume: the visibility timeout of {queue.node.path} is {hidden} s, and {worker.node.path} may "
            f"run for {timeout} s: set it to {TIMEOUTS * timeout} s, six timeouts of the function, or more"
        )


def check_doorbell(name: str, worker: lambda_.IFunction) -> None:
    """Raise ConfigError if *worker* may run for longer than a doorbell hides a ring: Lambda refuses it."""
    timeout = _timeout_of(worker)
    if timeout is not None and timeout > DOORBELL_VISIBILITY_SECONDS:
        raise ConfigError(
            f"consume_jobs: {worker.node.path} may run for {timeout} s, and the doorbell of {name} hides a "
            f"ring for {DOORBELL_VISIBILITY_SECONDS} s: set the timeout of the function to that or less, "
            "and take long jobs in a worker that is no function"
        )


def concurrency_of(worker: lambda_.IFunction, wanted: int | None, share: int) -> int | None:
    """Return the maximum concurrency of a queue of *worker*: *wanted*, else its reserved one below *share*.

    None: its share. Lambda throttles what exceeds the reserved concurrency, and a message that is throttled
    too often is in the dead-letter queue without one attempt. Raises ConfigError.
    """
    reserved = _reserved_by(worker)
    if reserved is None or (wanted or share) <= reserved:
        return wanted
    if wanted is None and reserved >= CONSUMER_MIN:
        return reserved
    raise ConfigError(
        f"consume: {worker.node.path} reserves {reserved} concurrent executions, and its queue would take "
        f"{wanted or CONSUMER_MIN}: Lambda throttles the difference, and messages are lost to their batch; "
        f"reserve {max(wanted or 0, CONSUMER_MIN)} or more"
    )


def _reserved_by(worker: lambda_.IFunction) -> int | None:
    """Return the concurrent executions that *worker* reserves; None for none, or unknown."""
    function = function_of(worker)
    resource = function.node.default_child if function else None
    found: Any = (
        resource.reserved_concurrent_executions if isinstance(resource, lambda_.CfnFunction) else None
    )
    return int(found) if isinstance(found, int | float) else None


def dead_letter_queue_of(queue: sqs.IQueue) -> sqs.IQueue:
    """Return the dead-letter queue of *queue*. Raises ConfigError if it has none, or is imported."""
    found = queue.dead_letter_queue if isinstance(queue, sqs.Queue) else None
    if found is None:
        raise ConfigError(
            f"consume: {queue.node.path} has no dead-letter queue, so a message that always fails would keep "
            "its batch open: give the queue dead_letter_queue=sqs.DeadLetterQueue(...); an imported queue is "
            "consumed with dead_letter_queue_arns and grant_ack"
        )
    return found.queue


def check_dead_letter_queue(queue: sqs.IQueue) -> None:
    """Raise ConfigError if *queue*, a dead-letter queue, hides messages for less than its consumer runs."""
    hidden = visibility_of(queue)
    if hidden is not None and hidden < DEAD_LETTER_HANDLER.timeout_seconds:
        raise ConfigError(
            f"consume: the visibility timeout of the dead-letter queue {queue.node.path} is {hidden} s: set "
            f"it to {DEAD_LETTER_HANDLER.timeout_seconds} s, the timeout of the function that consumes it"
        )


def visibility_of(queue: sqs.IQueue) -> int | None:
    """Return the visibility timeout of *queue* in seconds; None if it is imported, or a token."""
    resource = queue.node.default_child
    if not isinstance(resource, sqs.CfnQueue):
        return None
    hidden: Any = Stack.of(queue).resolve(resource.visibility_timeout)
    if hidden is None:
        return VISIBILITY
    return int(hidden) if isinstance(hidden, int | float) else None


def _timeout_of(worker: lambda_.IFunction) -> int | None:
    """Return the timeout of *worker* in seconds; None if it is imported."""
    function = function_of(worker)
    if function is None:
        return None
    return TIMEOUT if function.timeout is None else int(cast(float, function.timeout.to_seconds()))
