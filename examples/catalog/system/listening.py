"""Listens for completion events, in a thread, from before the batch is opened."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from botocore.exceptions import BotoCoreError, ClientError

from examples.catalog.checks.completions import Arrival, Book
from examples.catalog.errors import DemoError

POLL_SECONDS = 2
CHECK_SECONDS = 0.05


class Listener:
    """Receives every event from the queue at *url* and records it in *book*."""

    def __init__(self, sqs: Any, url: str) -> None:
        self.book = Book()
        self._sqs = sqs
        self._url = url
        self._over = threading.Event()
        self._failure = ""
        self._thread = threading.Thread(target=self._listen, daemon=True)

    def wait(self, batch_id: str, seconds: float) -> Arrival:
        """Return the first event of a batch. Raises DemoError if none arrives within *seconds*."""
        self._until(lambda: bool(self.book.of(batch_id)), seconds)
        arrivals = self.book.of(batch_id)
        if not arrivals:
            raise DemoError(
                f"no completion event came within {seconds:.0f} s of the batch's completion: "
                "the Pipe, the bus or the rule in between failed; see the local run's dead-letter messages"
            )
        return arrivals[0]

    def go_on(self, seconds: float) -> None:
        """Listen for *seconds* more."""
        self._until(lambda: False, seconds)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        if kind is None:
            self._thread.join()

    def _until(self, is_over: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not is_over() and time.monotonic() < deadline:
            if self._failure:
                raise DemoError(f"the queue of events cannot be read any more: {self._failure}")
            time.sleep(CHECK_SECONDS)

    def _listen(self) -> None:
        try:
            while not self._over.is_set():
                self._receive()
        except (BotoCoreError, ClientError) as error:
            self._failure = str(error)

    def _receive(self) -> None:
        answer = self._sqs.receive_message(
            QueueUrl=self._url, MaxNumberOfMessages=10, WaitTimeSeconds=POLL_SECONDS
        )
        for message in answer.get("Messages", []):
            self.book.note(message["Body"], datetime.now(UTC))
            self._sqs.delete_message(QueueUrl=self._url, ReceiptHandle=message["ReceiptHandle"])
