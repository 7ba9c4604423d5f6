"""Draws docs/watch.svg: ``make watch-picture``. `fanin watch` and the map of a batch that fills.

The frames are what the real rendering prints of a batch on the production tracker in memory; CSS shows one
after another. With reduced motion the last one is shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from random import Random

from fanin.cli.terminal.bar import Look, line
from fanin.cli.terminal.rate import Rate, seconds_left
from fanin.client.batch import Batch
from fanin.testing import FakeFanin
from fanin.tracker import State

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "watch.svg"
AT = datetime(2026, 11, 28, tzinfo=UTC)
ITEMS, CELLS, COLUMNS, PAGE_BITS = 12_800, 200, 40, 64
TWICE, BROKEN = 0.05, 3
FRAMES, SECONDS, HELD = 24, 0.4, 10
"""How many frames, the seconds of each, and for how many frames the last one stays."""
WIDTH, HEIGHT, MARGIN, TOP, SIDE, LEVELS, TEXT_COLUMNS = 760, 212, 20, 76, 18, 4, 74
STYLE = """
svg{--ink:#1a1c20;--soft:#59616d;--paper:#fff;--line:#d5dae1;--none:#e1e6ec;--bad:#b3261e;
--d1:#b8ccf0;--d2:#96b5ea;--d3:#6e9ae2;--done:#1d63d8}
@media (prefers-color-scheme:dark){svg{--ink:#e6e9ee;--soft:#a3adba;--paper:#14171c;--line:#343b46;
--none:#2b313b;--bad:#ff8a80;--d1:#2f4259;--d2:#375578;--d3:#416a9b;--done:#58a6ff}}
text{font:15px ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:var(--ink);white-space:pre}
.soft{fill:var(--soft)}.card{fill:var(--paper);stroke:var(--line)}.l{opacity:0}.last{opacity:1}
.none{fill:var(--none)}.d1{fill:var(--d1)}.d2{fill:var(--d2)}.d3{fill:var(--d3)}.d4{fill:var(--done)}.bad{fill:var(--bad)}
"""
MOVING = "@media (prefers-reduced-motion:no-preference){"


@dataclass(frozen=True, slots=True)
class Frame:
    """What is seen at once: the line of ``watch``, counts, and each cell's level (0 to 4) and failures."""

    watch: str
    acks: str
    levels: tuple[int, ...]
    failed: tuple[bool, ...]


def recorded() -> list[Frame]:
    """Return the frames of a batch from its first acks to its end; 5 % of the items are delivered twice."""
    fanin, random, rate = FakeFanin(at=AT, page_bits=PAGE_BITS), Random(7), Rate()
    with fanin.open("catalog-7") as batch:
        items = batch.add(ITEMS)
    order = sorted(range(ITEMS), key=lambda index: index + random.gauss(0, ITEMS / 8))
    broken, frames, counts = set(random.sample(range(ITEMS), BROKEN)), [], Counter[str]()
    for number in range(FRAMES):
        part = order[ITEMS * number // FRAMES : ITEMS * (number + 1) // FRAMES]
        fanin.fail([items[index] for index in part if index in broken], "timeout after 30 s")
        part = [index for index in part if index not in broken]
        for delivered in (random.sample(part, round(TWICE * len(part))), part):
            report = fanin.ack([items[index] for index in delivered])
            counts.update(each.verdict for each in report.results)
        fanin.clock.advance(seconds=2)
        frames.append(_seen(fanin, batch, rate, counts))
    return frames


def _seen(fanin: FakeFanin, batch: Batch, rate: Rate, counts: Counter[str]) -> Frame:
    status, seen = batch.status(), batch.map(cells=CELLS)
    rate.see(fanin.clock.monotonic(), status.estimate)
    seconds = seconds_left(status.total, status.estimate, rate.a_second, status.state is State.CLOSED)
    caption = (
        f"{counts.total():,} acks, {counts['duplicate']:,} of them duplicates; events: {len(fanin.events)}"
    )
    levels = tuple(LEVELS * acked // seen.cell_items for acked in seen.acked)
    return Frame(line(Look(status, rate.a_second, seconds), TEXT_COLUMNS), caption, levels, seen.failed)


def drawn(frames: Sequence[Frame]) -> str:
    """Return the picture of *frames*."""
    steps = len(frames) + HELD
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            f"<title>{escape(frames[-1].watch)}; {escape(frames[-1].acks)}</title>",
            f"<style>{STYLE}{MOVING}{''.join(_times(len(frames), steps))}}}</style>",
            f'<rect class="card" width="{WIDTH - 1}" height="{HEIGHT - 1}" x=".5" y=".5" rx="8"/>',
            f'<text class="soft" x="{MARGIN}" y="32">$ fanin watch catalog-7</text>',
            *(_texts(frame, number, number == len(frames) - 1) for number, frame in enumerate(frames)),
            f'<path class="none" d="{_squares(range(CELLS))}"/>',
            *(part for number in range(len(frames)) for part in _cells(frames, number)),
            "</svg>\n",
        )
    )


def _times(frames: int, steps: int) -> Iterator[str]:
    """Yield when each frame's line (l) is seen, and from when on its cells (c) are."""
    yield f".l,.c{{animation:{steps * SECONDS:g}s step-end infinite}}"
    for number in range(frames):
        start, end = (round(100 * at / steps, 2) for at in (number, number + 1))
        until = "" if number == frames - 1 else f"{end:g}%{{opacity:0}}"
        yield f"@keyframes l{number}{{0%{{opacity:0}}{start:g}%{{opacity:1}}{until}to{{opacity:0}}}}"
        yield f"@keyframes c{number}{{0%{{opacity:0}}{start:g}%{{opacity:1}}}}"
        yield f".l{number}{{animation-name:l{number}}}.c{number}{{animation-name:c{number}}}"


def _texts(frame: Frame, number: int, is_last: bool) -> str:
    lines = ((58, frame.watch, ""), (HEIGHT - 20, frame.acks, ' class="soft"'))
    texts = "".join(f'<text x="{MARGIN}" y="{y}"{kind}>{escape(text)}</text>' for y, text, kind in lines)
    return f'<g class="l l{number}{" last" if is_last else ""}">{texts}</g>'


def _cells(frames: Sequence[Frame], number: int) -> Iterator[str]:
    """Yield what this frame draws over those before: the cells of each level that they did not have."""
    now, before = frames[number], frames[number - 1] if number else None
    for level in range(1, LEVELS + 1):
        same = [before is not None and before.levels[cell] == level for cell in range(CELLS)]
        found = [cell for cell in range(CELLS) if now.levels[cell] == level and not same[cell]]
        if found:
            yield f'<path class="c c{number} d{level}" d="{_squares(found)}"/>'
    failed = [cell for cell in range(CELLS) if now.failed[cell]]
    if failed:
        corners = "".join(f"M{x} {y}h12l-12 12z" for x, y in map(_corner, failed))
        yield f'<path class="c c{number} bad" d="{corners}"/>'


def _squares(cells: Iterable[int]) -> str:
    inner = SIDE - 2
    return "".join(f"M{x} {y}h{inner}v{inner}h-{inner}z" for x, y in map(_corner, cells))


def _corner(cell: int) -> tuple[int, int]:
    row, column = divmod(cell, COLUMNS)
    return MARGIN + column * SIDE, TOP + row * SIDE


def main() -> None:
    PICTURE.write_text(drawn(recorded()))


if __name__ == "__main__":
    main()
