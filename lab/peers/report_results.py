"""The tables of the results that the end is given, from what was found in all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lab.pages.results import Result, Table, keep
from lab.peers.peers import PEERS, Peer

NAME, COMMAND = "peers_results", "make peers"
Found = Mapping[str, Any]
COLUMNS = (
    "peer",
    "items",
    "items/s",
    "requests an item",
    "bytes an item at the peak",
    "with two results",
    "without",
    "until all are read",
)


def keep_results(found: Sequence[Found]) -> Result:
    """Keep the result of *found*, of which the repeated runs are the smallest."""
    few = min(each["items"] for each in found)
    peers = [peer for peer in PEERS.values() if peer.name in {each["peer"] for each in found}]
    large = [_large(peer, each) for peer in peers for each in _of(peer, found) if each["items"] > few]
    ends = [_ends(peer, [each for each in _of(peer, found) if each["items"] == few]) for peer in peers]
    tables = {
        "large": Table(COLUMNS, large),
        "ends": Table(("peer", "ends", "with two results", "without"), ends),
    }
    return keep(NAME, COMMAND, tables, figures={"few": f"{few}"}, packages=("boto3", "ministack"))


def _of(peer: Peer, found: Sequence[Found]) -> list[Found]:
    return [each for each in found if each["peer"] == peer.name]


def _large(peer: Peer, each: Found) -> tuple[str, ...]:
    items = each["items"]
    return (
        peer.name,
        f"{items:,}",
        f"{each['rate']:,.0f}",
        f"{each['requests'] / items:.2f} {peer.requests}",
        f"{each['peak_bytes'] / items:,.0f}",
        f"{each['more']:,}",
        f"{each['without']:,}",
        "-" if each["reading"] is None else f"{1000 * each['reading']:,.0f} ms",
    )


def _ends(peer: Peer, runs: Sequence[Found]) -> tuple[str, ...]:
    counts = Counter(each["verdict"] for each in runs)
    verdicts = "; ".join(f"{verdict} in {count}" for verdict, count in counts.most_common())
    return peer.name, verdicts, *(f"{sum(each[name] for each in runs)}" for name in ("more", "without"))
