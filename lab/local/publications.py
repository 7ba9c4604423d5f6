"""Publishes an object of S3 by the stack, on the local run, and checks that each row is one item and is sent.

``python -m lab.local.publications`` publishes 100,000 rows in chunks of 100: undisturbed, with the process of
the function killed three times, cancelled half-way, and by the event of the object. It prints rows a second,
by the clock and of the function's processor time, and exits with 1 if a guarantee fails. ``--rows`` and
``--chunk`` change the run.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

from fanin.client.consuming.chunks import range_of
from fanin.local import LocalRun
from fanin.local.function_processes import deployed as functions
from fanin.local.function_processes.forking import SWITCH
from lab.local.races import Api

BUCKET, QUEUE = "lake", "work"
ARN = f"arn:aws:sqs:us-east-1:000000000000:{QUEUE}"
TICKS = os.sysconf("SC_CLK_TCK")
POLL_SECONDS = 0.1
PATIENCE_SECONDS = 900.0
HIDDEN_SECONDS = 20
"""How long a message of a killed process is hidden; 12 minutes in the stack."""
KILLS = 3
Json = dict[str, Any]


@dataclass
class Site:
    """A local run with a bucket and a queue, and the processor time of the function's processes."""

    run: LocalRun
    seconds: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.api, self.s3, self.sqs = Api(self.run.url), self.run.client("s3"), self.run.client("sqs")
        self.s3.create_bucket(Bucket=BUCKET)
        self.s3.put_bucket_notification_configuration(
            Bucket=BUCKET, NotificationConfiguration={"EventBridgeConfiguration": {}}
        )
        self.queue: str = self.sqs.create_queue(QueueName=QUEUE)["QueueUrl"]
        name = functions.by_handler(self.run.client("lambda"))["continue_publication"]["FunctionName"]
        endpoint = self.sqs.meta.endpoint_url
        self.named = {f"AWS_LAMBDA_FUNCTION_NAME={name}", f"AWS_ENDPOINT_URL={endpoint}"}
        (own,) = [each for each in self.sqs.list_queues()["QueueUrls"] if "PublicationsPartsQueue" in each]
        self.sqs.set_queue_attributes(QueueUrl=own, Attributes={"VisibilityTimeout": str(HIDDEN_SECONDS)})

    def put(self, key: str, rows: int) -> None:
        self.s3.put_object(
            Bucket=BUCKET,
            Key=key,
            Body=b"".join(b'{"row": %d, "name": "catalog"}\n' % n for n in range(rows)),
        )

    def start(self, rows: int, chunk: int) -> str:
        key = f"in/{uuid4().hex[:8]}.jsonl"
        self.put(key, rows)
        body = {"source": f"s3://{BUCKET}/{key}", "queue": ARN, "chunk": chunk}
        return str(self.api.post("/v1/publications", body)["batchId"])

    def progress(self, batch: str) -> Json:
        path = f"{self.run.url}/v1/publications/{batch}"
        found: Json = json.loads(self.api.pool.request("GET", path).data)
        return found

    def processes(self) -> list[int]:
        """Return the processes of the function, and note their processor time."""
        found = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit() and self._is(path)]
        for pid in found:
            with suppress(OSError):
                spent = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
                self.seconds[pid] = sum(map(int, spent)) / TICKS
        return found

    def _is(self, path: Path) -> bool:
        with suppress(OSError):
            return self.named <= set((path / "environ").read_bytes().decode(errors="replace").split("\0"))
        return False

    def sent(self) -> Counter[tuple[str, int]]:
        """Return how often each item was sent, with the row it has; empties the queue."""
        found: Counter[tuple[str, int]] = Counter()
        while got := self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10).get("Messages"):
            for message in got:
                found.update(items_in(json.loads(message["Body"])))
            entries = [{"Id": str(n), "ReceiptHandle": each["ReceiptHandle"]} for n, each in enumerate(got)]
            self.sqs.delete_message_batch(QueueUrl=self.queue, Entries=entries)
        return found


def items_in(body: Json) -> Iterator[tuple[str, int]]:
    """Yield the items of a chunk with their rows."""
    for item, record in zip(range_of(body["items"]), body["rows"], strict=True):
        yield str(item), record["row"]


def published(site: Site, rows: int, chunk: int, kills: int = 0) -> Json:
    """Publish *rows*; kill the function's process *kills* times meanwhile."""
    site.seconds.clear()
    begun = time.monotonic()
    batch, killed = site.start(rows, chunk), 0
    for progress in _until_end(site, batch):
        running = site.processes()
        if killed < kills and running and progress["rows"] > rows * (killed + 0.5) / (kills + 1):
            os.kill(running[0], signal.SIGKILL)
            killed += 1
    seconds = time.monotonic() - begun
    return {"batch": batch, "clock": seconds, "processor": sum(site.seconds.values()), "killed": killed}


def _until_end(site: Site, batch: str) -> Iterator[Json]:
    give_up = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < give_up:
        found = site.progress(batch)
        yield found
        if found["state"] != "OPEN":
            return
        time.sleep(POLL_SECONDS)
    raise AssertionError(f"{batch} is not published after {PATIENCE_SECONDS:.0f} s")


def check(site: Site, found: Json, rows: int) -> str:
    """Return a line about a publication of *rows*, all of which have to be one item, and sent."""
    sent = site.sent()
    assert len(sent) == rows, f"{len(sent)} of {rows} rows were sent"
    assert sorted(row for _, row in sent) == list(range(rows)), "a row was sent under two ids"
    total = site.progress(found["batch"])["rows"]
    assert total == site.api.status(found["batch"])["total"] == rows, f"{total} of {rows} items"
    twice = sum(sent.values()) - rows
    return (
        f"{rows:,} rows, {found['killed']} kills: {rows / found['clock']:,.0f} a second,"
        f" {rows / found['processor']:,.0f} a second of processor time; {twice:,} rows were sent twice"
    )


def cancelled(site: Site, rows: int, chunk: int) -> str:
    """Cancel a publication half-way; return a line about what was sent."""
    batch = site.start(rows, chunk)
    for progress in _until_end(site, batch):
        if progress["rows"] > rows / 2:
            site.api.post(f"/v1/batches/{batch}/cancel", {})
            break
    time.sleep(2)
    first = site.progress(batch)["rows"]
    time.sleep(HIDDEN_SECONDS + 5)
    end, sent = site.progress(batch), site.sent()
    assert (end["state"], end["rows"]) == ("CANCELLED", first), end
    assert len(sent) < rows, "all was sent"
    return f"cancelled at {progress['rows']:,} of {rows:,} rows: {len(sent):,} were sent, and none later"


def created(site: Site, rows: int) -> str:
    """Create an object that is published by its event; return a line about it."""
    name, begun = uuid4().hex[:8], time.monotonic()
    for _ in range(2):
        site.put(f"new/{name}.jsonl", rows)
    found: list[Json] = []
    while not found or found[0]["state"] == "OPEN":
        answer = site.api.pool.request("GET", f"{site.run.url}/v1/batches?userKey={name}")
        found = json.loads(answer.data)["batches"]
        assert time.monotonic() < begun + PATIENCE_SECONDS, found
        time.sleep(POLL_SECONDS)
    seconds, sent = time.monotonic() - begun, site.sent()
    assert (len(found), len(sent)) == (1, rows), (found, len(sent))
    return f"created twice with the same content: one batch, published {seconds:.1f} s later"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--chunk", type=int, default=100)
    options = parser.parse_args(arguments)
    os.environ[SWITCH] = "off"  # a process of its own environment is found by it
    allowed: list[Json] = [
        {"source": f"s3://{BUCKET}/in/", "queue": ARN},
        {"source": f"s3://{BUCKET}/new/", "queue": ARN, "onCreated": True, "chunk": options.chunk},
    ]
    with LocalRun.start(context={"publications": allowed}) as run:
        site = Site(run)
        for kills in (0, KILLS):
            print(check(site, published(site, options.rows, options.chunk, kills), options.rows), flush=True)
        print(cancelled(site, options.rows, options.chunk), flush=True)
        print(created(site, options.rows), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
