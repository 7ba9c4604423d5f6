"""What the demo's worker is made of, built once a process and when first needed."""

import os
import time
from functools import lru_cache, partial

from fanin.aws import clients
from functions.demo.bundling import Bundling
from functions.demo.chaos import Chaos
from functions.demo.index import Index
from functions.demo.work import Worker
from functions.wiring import grouping, tracking


@lru_cache(maxsize=1)
def worker() -> Worker:
    """The worker of this process.

    ``FANIN_INDEX_TABLE``: the index. ``FANIN_CHAOS_FAIL_PERCENT`` (0 unless set) of the items fail when they
    are first received, chosen by ``FANIN_CHAOS_SEED``. ``FANIN_BUNDLED_SECTIONS`` (none unless set, commas
    between them): packages of these are tasks for a batch API.
    """
    percent = int(os.environ.get("FANIN_CHAOS_FAIL_PERCENT", "0"))
    return Worker(
        transport=tracking.transport(),
        index=Index(clients.dynamodb(), os.environ["FANIN_INDEX_TABLE"]),
        bundling=Bundling(partial(grouping.grouper().register, tracking.settings().tenant), _sections()),
        units=lambda: tracking.meter.take("write_units"),
        chaos=Chaos(os.environ.get("FANIN_CHAOS_SEED", ""), percent),
        now=lambda: time.time_ns() // 1_000_000,
    )


def _sections() -> frozenset[str]:
    told = os.environ.get("FANIN_BUNDLED_SECTIONS", "")
    return frozenset(told.split(",")) - {""}
