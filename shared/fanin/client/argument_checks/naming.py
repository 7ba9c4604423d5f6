"""Errors about the arguments of a call, by the names that its caller wrote.

The rules are those of the service, whose fields have other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from fanin.errors import InvalidRequest
from fanin.tracker.rules.options import OPTIONS

ARGUMENTS = {
    **{option.field: option.argument for option in OPTIONS.values() if option.field != option.argument},
    "userKeyPrefix": "user_key_prefix",
    "openedFrom": "opened_from",
    "openedTo": "opened_to",
    "batchId": "batch_id",
    "endedBefore": "before",
    "taskId": "task_id",
    "itemId": "item_id",
    "deadId": "dead_id",
    "deadIds": "dead_ids",
    "messageGroup": "message_group",
}
"""Fields of requests, and the arguments that they come from."""
_FIELD = re.compile(rf"\b({'|'.join(ARGUMENTS)})\b")


@contextmanager
def named_as_arguments() -> Iterator[None]:
    """Raise an InvalidRequest of the block with the names of arguments in place of those of fields."""
    try:
        yield
    except InvalidRequest as error:
        if type(error) is not InvalidRequest:
            raise
        field = None if error.field is None else argument(error.field)
        raise InvalidRequest(argument(str(error)), field=field) from error.__cause__


def argument(text: str) -> str:
    """Return *text* with the names of arguments in place of those of fields."""
    return _FIELD.sub(lambda found: ARGUMENTS[found[0]], text)
