"""The Celery app of a run, for the Python that has Celery: ``chord_app.py ITEMS`` publishes its chord.

A worker is ``celery -A lab.peers.sites.chord_app worker``. The value of an item differs in each run of it,
as that of most work does.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

from celery import Celery, chord

from lab.peers.log import Log, result_of

URL = os.environ["PEERS_REDIS"]
LOG = Log(Path(os.environ["PEERS_LOG"]))
WORK, REDELIVERY = float(os.environ["PEERS_WORK"]), float(os.environ["PEERS_REDELIVERY"])
RESULTS = int(os.environ["PEERS_RESULTS"])
app = Celery("peers", broker=URL, backend=URL)
app.conf.update(
    task_acks_late=True,
    worker_prefetch_multiplier=1,
    broker_transport_options={
        "visibility_timeout": REDELIVERY,
        "unacked_restore_interval": REDELIVERY / 2,
        "unacked_restore_throttle": 1,
    },
)


@app.task(name="item")  # type: ignore[untyped-decorator]
def item(number: int) -> int | dict[str, object]:
    """Do an item, and return what differs in each run of it."""
    time.sleep(WORK)
    LOG.work(number)
    return result_of(number, RESULTS) if RESULTS else time.time_ns()


@app.task(name="end")  # type: ignore[untyped-decorator]
def end(values: list[Any]) -> None:
    """Report the end, and the results that it is given."""
    LOG.end(uuid4().hex)
    if RESULTS:
        LOG.results(value["item"] for value in values)


if __name__ == "__main__":
    chord(item.s(number) for number in range(int(sys.argv[1])))(end.s())
