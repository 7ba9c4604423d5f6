"""The tables and plots of the page, from what was found in all runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lab.pages.results import Plot, Result, Table, keep
from lab.peers.installing import NODE_PACKAGES, PYTHON_PACKAGES
from lab.peers.judging import NEVER, ONCE
from lab.peers.peers import PEERS, Peer

NAME, COMMAND = "peers", "make peers"
Found = Mapping[str, Any]
IN_TENS = PEERS["tens"].name
USE = (
    "peer",
    "publish, s",
    "requests an item",
    "write units an item",
    "read units an item",
    "bytes an item at the peak",
    "bytes an item after",
)


def keep_found(found: Sequence[Found], arguments: str = "") -> Result:
    """Keep the result; *arguments*: those of the command, if it had any."""
    large, few = _large(found), [each for each in found if _is_few(each, found)]
    sizes = sorted({each["items"] for each in large})
    return keep(
        NAME,
        f'{COMMAND} ARGS="{arguments}"' if arguments else COMMAND,
        {
            "speed": _by_size(large, sizes, lambda each: f"{each['rate']:,.0f}" if each["rate"] else "-"),
            "step": _by_size(large, sizes, lambda each: _milliseconds(each["step"])),
            "use": Table(USE, [_use(each) for each in large if each["items"] == sizes[-1]]),
            "ends": _ends(few),
            "large-ends": _by_size(large, sizes, _verdict),
        },
        _plots(large, sizes),
        _figures(found, few, sizes),
        packages=("boto3", "ministack"),
    )


def _large(found: Sequence[Found]) -> list[Found]:
    return [each for each in found if not _is_few(each, found)]


def _is_few(each: Found, found: Sequence[Found]) -> bool:
    """Return whether *each* is one of the repeated runs, which are the smallest."""
    return bool(each["items"] == min(one["items"] for one in found))


def _peers(found: Sequence[Found]) -> list[Peer]:
    names = {each["peer"] for each in found}
    return [peer for peer in PEERS.values() if peer.name in names]


def _by_size(large: Sequence[Found], sizes: Sequence[int], cell: Callable[[Found], str]) -> Table:
    """Return a table with a row for each tracker and a column for each size."""
    cells = {(each["peer"], each["items"]): cell(each) for each in large}
    return Table(
        ("peer", *(f"{size:,} items" for size in sizes)),
        [(peer.name, *(cells.get((peer.name, size), "-") for size in sizes)) for peer in _peers(large)],
    )


def _use(each: Found) -> tuple[str, ...]:
    peer = next(peer for peer in PEERS.values() if peer.name == each["peer"])
    items = each["items"]
    units = [f"{each[kind] / items:.3f}" if kind in each else "-" for kind in ("write_unit", "read_unit")]
    stored = [f"{each[kind] / items:,.2f}" if kind in each else "-" for kind in ("peak_bytes", "kept_bytes")]
    requests = f"{each['requests'] / items:.2f} {peer.requests}"
    return peer.name, f"{each['published']:.2f}", requests, *units, *stored


def _ends(few: Sequence[Found]) -> Table:
    """Return how often each verdict was, in the repeated runs with and without a killed worker."""
    rows = []
    for peer in _peers(few):
        runs = [each for each in few if each["peer"] == peer.name]
        verdicts = [(bool(each["killed"]), each["verdict"]) for each in runs]
        counted = [
            Counter(verdict for killed, verdict in verdicts if killed is which) for which in (False, True)
        ]
        rows.append((peer.name, peer.engine, *map(_counts, counted), _missing(runs)))
    return Table(
        ("peer", "engine", "with duplicates", "and a killed worker", "missing at an early end"), rows
    )


def _counts(verdicts: Counter[str]) -> str:
    return "; ".join(f"{verdict} in {count}" for verdict, count in verdicts.most_common()) or "-"


def _missing(runs: Sequence[Found]) -> str:
    missing = [each["missing"] for each in runs if each["missing"] and each["verdict"] != NEVER]
    return f"{min(missing)} to {max(missing)}" if missing else "-"


def _verdict(each: Found) -> str:
    return str(each["verdict"]) if each["verdict"] in (ONCE, NEVER) else f"**{each['verdict']}**"


def _milliseconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:,.1f} ms"


def _plots(large: Sequence[Found], sizes: Sequence[int]) -> dict[str, Plot]:
    """Return the plots of speed and bytes at the largest size, and of the step by size."""
    last = {each["peer"]: each for each in large if each["items"] == sizes[-1]}
    label = {peer.name: f"{peer.name} ({peer.engine})" for peer in _peers(large)}
    speed = {label[name]: each["rate"] for name, each in last.items() if each["rate"]}
    stored = {
        label[name]: each["peak_bytes"] / each["items"] for name, each in last.items() if "peak_bytes" in each
    }
    steps = {
        label[name]: [
            (each["items"], 1000 * each["step"])
            for each in sorted(large, key=lambda each: each["items"])
            if each["peer"] == name and each["step"] is not None
        ]
        for name in last
        if name != IN_TENS
    }
    of = f"of {sizes[-1]:,} items"
    return {
        "speed": Plot(f"Items a second, {of}", "items/s", bars=speed, log="x"),
        "bytes": Plot(f"Bytes an item at the peak, {of}", "bytes", bars=stored, log="x"),
        "step": Plot(
            "From the last item to the end",
            "items",
            "milliseconds",
            lines={name: points for name, points in steps.items() if points},
            log="xy",
        ),
    }


def _figures(found: Sequence[Found], few: Sequence[Found], sizes: Sequence[int]) -> dict[str, str]:
    """Return the figures that the page quotes."""
    pins = {**PYTHON_PACKAGES, **NODE_PACKAGES}
    versions = {name: pin.replace("==", "@").rsplit("@", 1)[1] for name, pin in pins.items()}
    runs = Counter(bool(each["killed"]) for each in few)
    trackers = len(_peers(few)) or 1
    return {
        **{f"{name}-version": version for name, version in versions.items()},
        "few": f"{min(each['items'] for each in found):,}",
        "runs": f"{runs[False] // trackers}",
        "killed": f"{runs[True] // trackers}",
        "largest": f"{sizes[-1]:,}",
    }
