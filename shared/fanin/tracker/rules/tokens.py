"""The task token of a batch: the key to a Step Functions task that waits for the end of the batch.

A caller that has the token can end the task. So it is stored in a row of its own, and is in no answer, event,
log line or archived change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from fanin.errors import InvalidRequest

TOKEN_MAX = 2048
"""Characters of a token: the maximum in the Step Functions API reference, SendTaskSuccess."""
_FORM = re.compile(rf"[\x21-\x7e]{{1,{TOKEN_MAX}}}")


class OnFailures(StrEnum):
    """How the task ends if all items of the batch are done, and some of them failed."""

    SUCCEED = "succeed"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class TaskToken:
    """The token *text*, and how the task ends if items failed."""

    text: str = field(repr=False)
    on_failures: OnFailures = OnFailures.SUCCEED


def token_given(text: str | None, on_failures: OnFailures, deadline: timedelta | None) -> TaskToken | None:
    """Return the task token of a request for a batch, or None. Raises InvalidRequest.

    A batch with a token needs a deadline: without one, a task whose items are lost would wait for ever.
    """
    if text is None:
        if on_failures is not OnFailures.SUCCEED:
            raise InvalidRequest("onFailures is for a batch with a taskToken", field="onFailures")
        return None
    if not isinstance(text, str) or not _FORM.fullmatch(text):
        raise InvalidRequest(
            f"a task token is 1 to {TOKEN_MAX} printable ASCII characters, without spaces", field="taskToken"
        )
    if deadline is None:
        raise InvalidRequest(
            "a batch with a taskToken needs deadlineSeconds: a task must not wait for ever",
            field="deadlineSeconds",
        )
    return TaskToken(text, on_failures)
