"""``fanin publish --server``: the stack reads the object, and sends its rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fanin.cli.batches.sqs import sqs_of, target_url
from fanin.cli.terminal.exits import Refused, UsageError
from fanin.cli.verbs import Invocation
from fanin.client.http_bodies import documents


def start(call: Invocation, order: Mapping[str, Any], unfit: Sequence[str]) -> None:
    """Start the publication of *order*, arguments of ``Fanin.publish_object``, and print the id of its batch.

    *unfit*: the options that only the command's own publishing takes, if given. Raises UsageError, Refused.
    """
    if unfit:
        raise UsageError(f"--server takes no {' and no '.join(unfit)}: the stack reads the object by itself")
    if not order["source"].startswith("s3://"):
        raise UsageError("--server needs s3://BUCKET/KEY: the stack reads the object by itself")
    if live := call.names.live(order["user_key"]):
        raise Refused(
            f"{order['user_key']!r} names a live batch already: {live[0].batch_id}; wait for it, end it"
            f" (fanin cancel {live[0].batch_id}), or give another --user-key"
        )
    given = {name: value for name, value in order.items() if value is not None}
    batch = call.fanin.publish_object(**given | {"queue": _arn(call, order["queue"])})
    if call.output.as_json:
        call.output.value(call.api.get(f"/v1/publications/{batch.id}", documents.batch_id_of).document, "")
    else:
        call.output.line(batch.id)


def _arn(call: Invocation, queue: str) -> str:
    """Return the ARN of *queue*, which may be one, or a name or URL. Raises NotFound, InvalidRequest."""
    if queue.startswith("arn:"):
        return queue
    sqs = sqs_of(call.site)
    url = target_url(sqs, queue)
    return sqs.get_queue_attributes(QueueUrl=url, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"]
