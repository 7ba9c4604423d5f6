"""The task token of a batch: the key to a Step Functions task that waits for the end of the batch.

A caller that has the token can end the task. So it is stored in a row of its own, and is in no answer, event,
log line or archived change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

TOKEN_MAX = 2048
"""Characters of a token: the maximum in the Step Functions API reference, SendTaskSuccess."""


class OnFailures(StrEnum):
    """How the task ends if all items of the batch are done, and some of them failed."""

    SUCCEED = "succeed"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class TaskToken:
    """The token *text*, and how the task ends if items failed."""

    text: str = field(repr=False)
    on_failures: OnFailures = OnFailures.SUCCEED
