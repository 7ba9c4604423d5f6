"""Checks of a request's form, made before its fields are validated."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Collection, Mapping
from typing import Any

from fanin.api.requests.wording import parameters_text
from fanin.errors import InvalidRequest
from fanin.grouper.rules.ids import checked_bundle_id, checked_task_id
from fanin.queue.rules.keys import checked_queue_name
from fanin.tracker.rules.ids import checked_batch_id

BODY_MAX = 256 * 1024
"""Bytes of a body."""
WITH_BODY = {"POST", "PUT"}
"""Methods whose body is read."""
NAME_SHOWN = 64
"""Characters of an unknown name that an answer repeats."""
REPLACEMENT = "\ufffd"
NAMED_IN_PATHS: Mapping[str, Callable[[str], str]] = {
    "batchId": checked_batch_id,
    "taskId": checked_task_id,
    "bundleId": checked_bundle_id,
    "queue": checked_queue_name,
}
"""A path parameter, and the check of its form."""


class UnsupportedMediaType(InvalidRequest):
    """The body is not declared to be JSON."""


class BodyTooLarge(InvalidRequest):
    """The body has more than 256 KiB."""


def admit(event: Mapping[str, Any], query: Collection[str] = ()) -> None:
    """Check the form of *event* (payload 2.0): id in the path, query, media type, size and encoding.

    *query*: names of the route's query parameters. A body is optional. Raises InvalidRequest.
    """
    for name, value in (event.get("pathParameters") or {}).items():
        NAMED_IN_PATHS[name](value)  # the resolver's pattern accepts a line break at the end
    _check_query(event, query)
    if event["requestContext"]["http"]["method"] in WITH_BODY and event.get("body"):
        _require_json(event["headers"])
        _check_text(_body_of(event))


def _check_query(event: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse unknown query parameters; the ``X-Amz-`` names are a signature in the URL."""
    for name in event.get("queryStringParameters") or {}:
        if name not in known and not name.lower().startswith("x-amz-"):
            shown = name[:NAME_SHOWN]
            raise InvalidRequest(
                f"there is no query parameter {shown!r} on this route; {parameters_text(known)}",
                field=shown,
            )


def _require_json(headers: Mapping[str, str]) -> None:
    declared = next((value for name, value in headers.items() if name.lower() == "content-type"), "")
    media_type, _, parameters = declared.lower().partition(";")
    charset = parameters.strip().replace('"', "")
    if media_type.strip() != "application/json" or charset not in ("", "charset=utf-8"):
        raise UnsupportedMediaType("send the body as application/json, in UTF-8")


def _body_of(event: Mapping[str, Any]) -> bytes:
    body = event.get("body") or ""
    try:
        raw: bytes = body.encode()
        return base64.b64decode(raw, validate=True) if event.get("isBase64Encoded") else raw
    except (binascii.Error, UnicodeEncodeError) as error:
        raise InvalidRequest("the body cannot be decoded; send it in UTF-8") from error


def _check_text(body: bytes) -> None:
    if len(body) > BODY_MAX:
        raise BodyTooLarge(f"a body has at most {BODY_MAX} bytes")
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest("the body is not UTF-8") from error
    if REPLACEMENT in text:
        raise InvalidRequest("the body holds U+FFFD, so it was not UTF-8 when it was sent")
