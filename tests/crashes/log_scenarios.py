"""Scenarios of acks that go through a log: the acks queue that writes it, and ``bulk_ack`` that folds it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from fanin.pacing import each_in_threads
from fanin.tracker import Outcome, Tracker
from pipeline.bulk_ack import write
from pipeline.bulk_ack.local import LocalEngine
from pipeline.bulk_ack.run import BulkAckRequest, bulk_ack
from pipeline.table_frames.tables import Tables
from tests.crashes.account import Account
from tests.crashes.naming import BULK_ACK, LAKE, REGION, TABLES, TENANT
from tests.crashes.scenario import Context, Delivery, Duty, Messages, Scenario
from tests.crashes.tracker_scenarios import BY_WHOM, ack_message, acked, added, child, closed, opened

LOG = f"s3://{LAKE}/acks"


@dataclass(frozen=True)
class LoggedMessages(Messages):
    """A delivery of the acks queue of a stack with ``acks_log``."""

    def invoke(self, handler: str, context: Context) -> tuple[Any, Delivery | None]:
        with patch.dict(os.environ, {"FANIN_ACKS_LOG": LOG}):
            return super().invoke(handler, context)


@dataclass(frozen=True)
class Job:
    """A run of ``bulk_ack``, in this process, over the *files* of a log; its user runs it again."""

    files: Mapping[str, bytes]

    def invoke(self, _handler: str, _context: Context) -> tuple[Any, Delivery | None]:
        tables, engine = Tables(TABLES["batches"], TABLES["pages"], REGION), LocalEngine(cores=1)
        tracker = Tracker(tables.store, each=each_in_threads)
        with TemporaryDirectory() as folder, patch.object(write, "_tracker", lambda _: tracker):
            for name, content in self.files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            request = BulkAckRequest(tables, TENANT, f"{folder}/rejects", "run")
            bulk_ack(engine, engine.list_logs([folder]), request, lambda *_: None)
        return None, None


def _logged(account: Account) -> Delivery:
    """Fold the log that the acks queue has written."""
    names = (name for name in account.outside.buckets.objects if name.startswith(f"{LAKE}/acks/"))
    return Job({name: account.outside.buckets.objects[name] for name in names})


def _consume(_: Account) -> Delivery:
    """Items of two batches, and one message that is no ack."""
    batch, items = child(5)
    others = added(opened("others"), 3)
    closed(batch)
    messages = [ack_message(item) for item in (*items[:3], *others)]
    return LoggedMessages((*messages, *(ack_message(item, "failure") for item in items[3:]), "not an ack"))


def _fold(_: Account, is_failing: bool) -> Delivery:
    """Pages that are stored in part, new ones, some with failures, so that every kind of write is sent."""
    batch, items = child(4 * (55 if is_failing else 30))
    closed(batch)
    acked(items[:2])
    acked(items[5:6], Outcome.FAILURE if is_failing else Outcome.SUCCESS)
    failed = set(items[5::4]) if is_failing else set()
    rows = [{"item_id": item} | ({"outcome": "failure"} if item in failed else {}) for item in items]
    rows[9] |= {"reason": "broken"}
    return Job({"log.jsonl": "".join(json.dumps(row) + "\n" for row in rows).encode()})


LOGS = [
    Scenario(
        "consume_acks",
        "to a log, which is folded",
        _consume,
        (Duty(BULK_ACK, delivery=_logged),),
        fresh=BY_WHOM,
        returns=True,
    ),
    Scenario(BULK_ACK, "new and stored pages, and the parent ends", partial(_fold, is_failing=False)),
    Scenario(BULK_ACK, "pages with failures, many in one write", partial(_fold, is_failing=True)),
]
