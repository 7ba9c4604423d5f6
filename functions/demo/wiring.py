"""Builds the demo's worker, once in each process."""

import os
import time
from functools import lru_cache, partial

from fanin.aws import clients
from functions.demo.bundling import Bundling
from functions.demo.chaos import Chaos
from functions.demo.index import Index
from functions.demo.work import Worker
from functions.wiring import grouping, metered, tracking


@lru_cache(maxsize=1)
def worker() -> Worker:
    """Return the worker of this process, configured by its environment.

    ``FANIN_INDEX_TABLE``: the index table. ``FANIN_CHAOS_FAIL_PERCENT`` (default 0): the percentage of items
    that fail at their first receive, chosen by ``FANIN_CHAOS_SEED``. ``FANIN_BUNDLED_SECTIONS`` (default:
    none): the sections whose packages become tasks for a batch API, separated by commas.
    """
    percent = int(os.environ.get("FANIN_CHAOS_FAIL_PERCENT", "0"))
    return Worker(
        transport=tracking.transport(),
        index=Index(clients.dynamodb(), os.environ["FANIN_INDEX_TABLE"]),
        bundling=Bundling(partial(grouping.grouper().register, tracking.settings().tenant), _sections()),
        units=lambda: metered.meter.take("write_units"),
        chaos=Chaos(os.environ.get("FANIN_CHAOS_SEED", ""), percent),
        now=lambda: time.time_ns() // 1_000_000,
    )


def _sections() -> frozenset[str]:
    sections = os.environ.get("FANIN_BUNDLED_SECTIONS", "")
    return frozenset(sections.split(",")) - {""}
