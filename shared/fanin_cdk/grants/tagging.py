"""The tags of the stack as text, for the resources that its functions make at run time."""

from __future__ import annotations

from typing import cast

import jsii
from aws_cdk import IResolveContext, IStringProducer, Lazy, Stack
from aws_cdk import aws_sqs as sqs


def tags_of(queue: sqs.Queue) -> str:
    """Return the tags of *queue*, which can be added later, as a JSON object of texts."""
    return Lazy.uncached_string(_Tags(queue))


@jsii.implements(IStringProducer)
class _Tags:
    """Reads the tags when the template is written: those of its stack, and those of the queue itself."""

    def __init__(self, queue: sqs.Queue) -> None:
        self._queue = queue

    def produce(self, context: IResolveContext) -> str | None:  # noqa: ARG002  # the signature of the CDK
        """Return the text; None without tags, so that no variable is written."""
        stack = Stack.of(self._queue)
        resource = cast(sqs.CfnQueue, self._queue.node.default_child)
        tags = {**stack.tags.tag_values(), **resource.tags.tag_values()}
        return stack.to_json_string(dict(sorted(tags.items()))) if tags else None
