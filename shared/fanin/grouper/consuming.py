"""A delivery of SQS records, each answered by itself: only those that went wrong come back."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fanin.calling import done, log_failure, plain

Done = TypeVar("Done")
logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Consumed(Generic[Done]):
    """What came of a delivery. *failed*: message ids; they come back, and end as dead letters."""

    done: tuple[Done, ...]
    failed: tuple[str, ...]

    def response(self) -> dict[str, Any]:
        """As the event source takes it, with ``ReportBatchItemFailures``."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


def consume(
    records: Iterable[Mapping[str, Any]], answer: Callable[[str], Done], has_time: Callable[[], bool]
) -> Consumed[Done]:
    """Give the body of each record to *answer*, for as long as there *has_time*.

    A body that is no message, and whatever else is raised, fails that record alone; so does a lack of time.
    """
    answers: list[Done] = []
    plain(answer, "answer")
    failed: list[str] = []
    for record in records:
        try:
            if has_time():
                answers.append(done(answer(record["body"]), "answer"))
                continue
        except Exception as error:  # one message must not take the others of its delivery along
            log_failure(logger, "message %s goes back", record["messageId"], error=error)
        failed.append(record["messageId"])
    return Consumed(tuple(answers), tuple(failed))
