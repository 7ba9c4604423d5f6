"""Runs a Pipe in a thread: reads the stream from its start and retries a record until it is delivered."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from fanin.local.connection import Connection
from fanin.local.pipe import Pipe, Record, Undelivered, as_delivered

POLL_SECONDS = 0.2
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 5.0
BUS_TAKES = 10

log = logging.getLogger(__name__)


class PipeRunner(threading.Thread):
    """Delivers records until ``stop``; those that are left are lost with the emulator's tables."""

    def __init__(self, pipe: Pipe, aws: Connection) -> None:
        super().__init__(name="fanin-local-pipe", daemon=True)
        self.pipe = pipe
        self.streams = aws.client("dynamodbstreams")
        self.functions = aws.client("lambda")
        self.events = aws.client("events")
        self.queues = aws.client("sqs")
        self.stream_arn = aws.client("dynamodb").describe_table(TableName=pipe.table)["Table"][
            "LatestStreamArn"
        ]
        self.last = ""
        self.stopped = threading.Event()

    def stop(self) -> None:
        """Stop the thread and wait for it, 5 seconds at most."""
        self.stopped.set()
        self.join(timeout=LONGEST_PAUSE_SECONDS)

    def run(self) -> None:
        """Read from the last record that was processed until ``stop``."""
        while not self.stopped.wait(POLL_SECONDS):
            try:
                self._read_on()
            except (ClientError, BotoCoreError):
                # The iterator expired, or the emulator is stopping: the next round gets a new iterator.
                log.debug("the stream could not be read", exc_info=True)

    def _read_on(self) -> None:
        iterator = self._iterator()
        while iterator and not self.stopped.wait(POLL_SECONDS):
            page = self.streams.get_records(ShardIterator=iterator)
            for records in chunks(page["Records"], self.pipe.batch_size):
                self._process(records)
            iterator = page.get("NextShardIterator")

    def _iterator(self) -> str:
        (shard,) = self.streams.describe_stream(StreamArn=self.stream_arn)["StreamDescription"]["Shards"]
        start: dict[str, str] = {"ShardIteratorType": "TRIM_HORIZON"}
        if self.last:
            start = {"ShardIteratorType": "AFTER_SEQUENCE_NUMBER", "SequenceNumber": self.last}
        found = self.streams.get_shard_iterator(StreamArn=self.stream_arn, ShardId=shard["ShardId"], **start)
        return str(found["ShardIterator"])

    def _process(self, records: Sequence[Record]) -> None:
        delivered = (as_delivered(record, self.stream_arn) for record in records)
        wanted = [record for record in delivered if self.pipe.wants(record)]
        if wanted:
            self._deliver(wanted)
        if not self.stopped.is_set():
            self.last = records[-1]["dynamodb"]["SequenceNumber"]

    def _deliver(self, records: Sequence[Record]) -> None:
        """Deliver *records*; retry a failed batch in halves, and give up on a record after its retries."""
        if self._tried(records, attempts=1 if len(records) > 1 else 1 + self.pipe.retries):
            return
        if len(records) == 1:
            self._send_position(records[0])
            return
        middle = len(records) // 2
        self._deliver(records[:middle])
        self._deliver(records[middle:])

    def _tried(self, records: Sequence[Record], attempts: int) -> bool:
        for attempt in range(attempts):
            try:
                self._put(self._enriched(records))
                return True
            except (Undelivered, ClientError, BotoCoreError) as error:
                if not self.stopped.is_set():  # requests to a stopping run may fail
                    log.warning("the Pipe could not deliver %d records: %s", len(records), error)
            pause = min(FIRST_PAUSE_SECONDS * 2**attempt, LONGEST_PAUSE_SECONDS)
            if self.stopped.wait(pause):
                break
        return False

    def _enriched(self, records: Sequence[Record]) -> list[Any]:
        answer = self.functions.invoke(
            FunctionName=self.pipe.enrichment, Payload=json.dumps(records).encode()
        )
        payload = json.loads(answer["Payload"].read())
        if answer.get("FunctionError"):
            raise Undelivered(f"the enrichment failed: {payload}")
        return payload if isinstance(payload, list) else [payload]

    def _put(self, details: list[Any]) -> None:
        if len(details) > BUS_TAKES:
            raise Undelivered(f"the enrichment returned {len(details)} events; a bus takes {BUS_TAKES}")
        if not details:
            return
        answer = self.events.put_events(Entries=self.pipe.entries(details))
        if answer["FailedEntryCount"]:
            raise Undelivered(f"the bus refused: {answer['Entries']}")

    def _send_position(self, record: Record) -> None:
        """Send the position of *record* in the stream, not the record, to the dead-letter queue."""
        if self.stopped.is_set() or self.pipe.dead_letter_queue is None:
            return
        number = record["dynamodb"]["SequenceNumber"]
        position = {"streamArn": self.stream_arn, "startSequenceNumber": number, "endSequenceNumber": number}
        body = json.dumps(
            {"context": {"partnerResourceArn": self.pipe.table}, "DynamoDBStreamBatchInfo": position}
        )
        self.queues.send_message(QueueUrl=self.pipe.dead_letter_queue, MessageBody=body)


def chunks(records: Sequence[Record], size: int) -> Iterator[Sequence[Record]]:
    """Yield *records* in order, *size* at a time."""
    for first in range(0, len(records), size):
        yield records[first : first + size]
