"""The options of ``Fanin.publish_object``, and the request that they make."""

from __future__ import annotations

from typing import Any

from fanin.arguments import shown, text, text_or_none, whole
from fanin.client.argument_checks.opening import PublishedOptions, spec_of
from fanin.client.http_bodies.codec import Document
from fanin.client.http_bodies.documents import publication_body
from fanin.errors import InvalidRequest
from fanin.tracker.reads.window import WINDOW_MAX


class PublicationOptions(PublishedOptions, total=False):
    """The options of an object that the stack publishes.

    *user_key*: yours, to find its batch. *chunk*: rows of a message, 1 to 10,000; by default one alone.
    *rate*: about how many messages a second, 1 to 10,000. *message_group*: of all messages, by default the
    batch. The others are those of its batch: see ``OpenOptions``.
    """

    user_key: str | None
    chunk: int | None
    rate: float | None
    message_group: str | None


OF_MESSAGES = ("chunk", "rate", "message_group")


def publication_of(source: str, queue: str, options: PublicationOptions) -> Document:
    """Return the body of the request. Raises InvalidRequest, and TypeError for an unknown option."""
    unknown = sorted(options.keys() - PublicationOptions.__annotations__.keys())
    if unknown:
        raise TypeError(f"publish_object() got an unexpected keyword argument {unknown[0]!r}")
    of_batch: Any = {name: value for name, value in options.items() if name not in OF_MESSAGES}
    spec = spec_of(of_batch.pop("user_key", None), of_batch)
    chunk, group = options.get("chunk"), options.get("message_group")
    order = {
        "source": text(source, "a source", "source"),
        "queue": text(queue, "a queue", "queue"),
        "chunk": None if chunk is None else whole(chunk, "chunk", 1, WINDOW_MAX),
        "rate": _number(options.get("rate"), "rate"),
        "messageGroup": text_or_none(group, "a message group", "message_group"),
    }
    return publication_body(order, spec)


def _number(value: float | None, name: str) -> float | None:
    """Return *value*, a number or None; the service knows its bounds."""
    if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise InvalidRequest(f"{name} is a number, not {shown(value)}", field=name)
    return value
