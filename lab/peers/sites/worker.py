"""A worker of a tracker that has no queue of its own: ``python -m lab.peers.sites.worker KIND CONFIG``.

It reads deliveries from standard input, a line with JSON of item numbers each. It does the items, writes
them to the log of the run, acks them, reports the end and the results of the items if the tracker says so,
and then confirms the delivery by a line with what it has requested so far.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab.peers.log import Log
from lab.peers.sites.acking import acker


def main(arguments: Sequence[str]) -> None:
    kind, config = arguments[0], json.loads(arguments[1])
    acks, log = acker(kind, config), Log(Path(config["log"]))
    for line in sys.stdin:
        items: list[int] = json.loads(line)
        for item in items:
            time.sleep(config["work"])
            log.work(item)
        for end in acks.ack(items):
            log.end(end)
            log.results(acks.results())
        print(json.dumps(acks.requested()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
