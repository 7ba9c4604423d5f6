"""Processes the records of an SQS delivery one by one; only those that failed are delivered again."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from fanin.errors import StaleWrite
from fanin.user_functions import finished, log_failure, synchronous

Answered = TypeVar("Answered")
logger = logging.getLogger("fanin")


@dataclass(frozen=True, slots=True)
class Consumed(Generic[Answered]):
    """What *answer* returned for each message. *failed*: ids of messages that SQS delivers again."""

    answers: tuple[Answered, ...]
    failed: tuple[str, ...]

    def response(self) -> dict[str, Any]:
        """Return the response for an event source with ``ReportBatchItemFailures``."""
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in self.failed]}


def consume(
    records: Iterable[Mapping[str, Any]], answer: Callable[[str], Answered], has_time: Callable[[], bool]
) -> Consumed[Answered]:
    """Pass the body of each record to *answer* while *has_time* returns true.

    An error fails its record alone, and so does a lack of time.
    """
    answers: list[Answered] = []
    synchronous(answer, "answer")
    failed: list[str] = []
    for record in records:
        try:
            if has_time():
                answers.append(finished(answer(record["body"]), "answer"))
                continue
        except StaleWrite:  # another process handles the same message, or the same row
            logger.info("message %s was overtaken and will be delivered again", record["messageId"])
        except Exception as error:  # a failed message must not fail the others of its delivery
            log_failure(
                logger, "message %s failed and will be delivered again", record["messageId"], error=error
            )
        failed.append(record["messageId"])
    return Consumed(tuple(answers), tuple(failed))
