"""The table, the plot and the targets of the page, from the rows of all ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lab.pages.results import Plot, Result, Table, Target, keep
from lab.ways_to_ack.bill import Row
from lab.ways_to_ack.ways import ANY, QUEUE, SHUFFLED, WAYS, Way

NAME, COMMAND = "ways_to_ack", "make ways-to-ack"
COLUMNS = (
    "way",
    "requests an item",
    "write units",
    "read units",
    "refused writes",
    "$ a million, tables",
    "$ a million, all",
)
CLIMB = "each full page takes two more writes: 0.002 an item"
READS = "each process reads its batch once in 5 s"
MIXED = (
    "a write of more than 20 digits of a page needs a read, and may be refused;"
    " deliveries of 1,000 take a seventh"
)
LONELY = f"an ack of 64 is 0.0156; {CLIMB}; ten chunks a delivery, the default of `consume`, share both"


def keep_rows(rows: Sequence[Row], items: int, arguments: str = "") -> Result:
    """Keep the result; *arguments*: those of the command, if it had any."""
    found = {row.name: row for row in rows}
    return keep(
        NAME,
        f'{COMMAND} ARGS="{arguments}"' if arguments else COMMAND,
        {"ways": Table(COLUMNS, [_cells(row) for row in rows])},
        {
            "dollars": Plot(
                "Dollars of a million acked items, with their messages",
                "$ a million items",
                bars={_label(row): row.dollars for row in rows},
                log="x",
            )
        },
        figures(found, items),
        targets(found),
    )


def _label(row: Row) -> str:
    return row.name.removeprefix("through the ").replace("deliveries of", "by").replace(" within 2,000", "")


def _cells(row: Row) -> tuple[str, ...]:
    units = [f"{each:.4f}" for each in (row.requests, row.writes, row.reads)]
    return (
        row.name,
        *units,
        f"{row.refused:.4f}" if row.refused else "0",
        *(f"${each:.3f}" for each in (row.tables, row.dollars)),
    )


def figures(found: Mapping[str, Row], items: int) -> dict[str, str]:
    """Return the figures that the page quotes."""
    rows = {
        "alone": Way(1),
        "tens": Way(10),
        "hundreds": Way(100),
        "hundreds-mixed": Way(100, SHUFFLED),
        "thousands-mixed": Way(1_000, SHUFFLED),
        "tens-random": Way(10, ANY),
        "most-random": Way(10_000, ANY),
        "queue": Way(100, through=QUEUE),
        "chunks": Way(10, chunk=64),
        "chunks-mixed": Way(10, SHUFFLED, chunk=64),
        "spark": WAYS[-1],
    }
    chosen = {name: found[way.name] for name, way in rows.items()}
    return {
        "items": f"{items:,}",
        **{name: f"{row.requests:.3f}" for name, row in chosen.items()},
        **{f"{name}-dollars": f"${row.dollars:.3f}" for name, row in chosen.items()},
        "mixed-refused": f"{chosen['hundreds-mixed'].refused:.3f}",
        "mixed-again": f"{chosen['hundreds-mixed'].again:.4f}",
    }


def targets(found: Mapping[str, Row]) -> list[Target]:
    """Return the targets of the ways, and whether they are met."""
    singly = [found[Way(1, consumers=consumers).name] for consumers in (1, 32, 1_000)]
    tens, queue = found[Way(10).name], found[Way(100, through=QUEUE).name]
    mixed = found[Way(100, SHUFFLED, through=QUEUE).name]
    one, ten = found[Way(1, chunk=64).name], found[Way(10, chunk=64).name]
    return [
        _target("singly, writes", "1.00", singly, "writes", CLIMB),
        *(_target(f"{row.name}, reads", "0.00", [row], "reads", READS) for row in singly),
        _target("tens in order, requests", "0.10", [tens], "requests", CLIMB),
        _target("chunks of 64, ten a delivery, requests", "at most 0.016", [ten], "requests", LONELY),
        _target("chunks of 64, one a delivery, requests", "at most 0.016", [one], "requests", LONELY),
        _target("acks queue in order, 10,000 acks/s, requests", "at most 0.02", [queue], "requests", MIXED),
        _target("the same, shuffled within 2,000", "at most 0.02", [mixed], "requests", MIXED),
    ]


def _target(what: str, target: str, rows: Sequence[Row], column: str, reason: str) -> Target:
    """Return a target that is met if all *rows* have it, rounded to its digits."""
    limit = target.removeprefix("at most ")
    digits = len(limit.partition(".")[2])
    most = max(getattr(row, column) for row in rows)
    shown = f"{most:.{digits}f}"
    is_met = most <= float(limit) if target.startswith("at most") else shown == limit
    return Target(what, target, f"{most:.4f}", is_met, "" if is_met else reason)
