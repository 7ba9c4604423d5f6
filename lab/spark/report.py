"""The result of ``python -m lab.spark``, for docs/performance/spark.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial

from lab.pages.page import write
from lab.pages.results import Plot, Result, Table, Target, keep, kept, save
from lab.pages.revision import commit

NAMES = {
    "spark": "bulk_ack --dry-run",
    "spark-numpy": "bulk_ack --dry-run, without the compiled kernel",
    "spark-acks": "bulk_ack, its requests answered at once",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "polars-numpy": "Polars, folded by NumPy",
    "spark-files": "fan_out --files",
    "duckdb-files": "DuckDB",
    "polars-files": "Polars",
}
COLUMNS = ("rows", "way", "CPU s, all", "CPU s, again", "rows a CPU second", "MB")
PACKAGES = ("pyspark", "pyarrow", "numpy", "duckdb", "polars")


@dataclass(frozen=True, slots=True)
class Part:
    """What another command measures for the page: a *table*, the figure *run*, targets that begin so."""

    table: str
    run: str
    targets: str


SMALL = Part("small", "small-run", "from the shell:")
FORMS = Part("forms", "forms-run", "bulk_ack --dry-run by this machine, rows of")
BATCHES = Part("batches", "batches-run", "the fold alone,")
PAGES = Part("pages", "pages-run", "pages,")
PARTS = (SMALL, FORMS, BATCHES, PAGES)


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU seconds of a way: its process with the *first* run, and the same run *again*, in *seconds*."""

    way: str
    rows: int
    first: float
    again: float
    seconds: float
    megabytes: float

    @property
    def rate(self) -> float:
        """Return rows a CPU second, of the run again."""
        return self.rows / self.again

    def __str__(self) -> str:
        return (
            f"{NAMES[self.way]:28} {self.rows:>13,} rows: {self.first:7.1f} CPU s, again {self.again:7.1f}:"
            f" {self.rate / 1e6:6.2f} M/s; {self.seconds:6.1f} s, {self.megabytes:6,.0f} MB"
        )


@dataclass(frozen=True, slots=True)
class Found:
    """All that was measured: the medians of *all* ways, the jobs *alone*, and fan_out *on_two* cores."""

    all: Sequence[Measured]
    alone: Sequence[Measured] = ()
    on_two: Measured | None = None

    def of(self, way: str) -> list[Measured]:
        """Return the measurements of a way, by size."""
        return sorted((each for each in self.all if each.way == way), key=lambda each: each.rows)

    def slope(self, way: str) -> float:
        """Return rows a CPU second between the smallest and the largest size: without what each run costs."""
        first, *_, last = self.of(way)
        return (last.rows - first.rows) / (last.again - first.again)

    @property
    def sizes(self) -> list[int]:
        """Return the sizes of the logs."""
        return [each.rows for each in self.of("spark")]


def keep_all(found: Found, command: str, rounds: int) -> Result:
    """Keep the result, with what the other commands measured last."""
    tables, figures, targets = _of_parts(kept("spark"))
    unmeasured = {part.table: Table(("not measured",), []) for part in PARTS}
    return keep(
        "spark",
        command,
        {
            **unmeasured,
            **tables,
            "folds": Table(COLUMNS, list(_rows(found, False))),
            "alone": Table(COLUMNS, [_row(each) for each in found.alone]),
            "files": Table(COLUMNS, list(_rows(found, True))),
        },
        {"folds": _plot(found)},
        {"rounds": str(rounds), **figures, **dict(_figures(found))},
        [*_targets(found), *targets],
        PACKAGES,
    )


def keep_part(part: Part, command: str, table: Table, targets: Sequence[Target]) -> None:
    """Put a part into the result of the page, and write the page; the rest of it stays."""
    result = kept("spark")
    if result is None:
        raise SystemExit("run python -m lab.spark --keep before: the page is of its result")
    ran = f"`{command}`, {datetime.now(UTC):%Y-%m-%d} at `{commit()}`"
    others = [each for each in result.targets if not each.what.startswith(part.targets)]
    tables, figures = {**result.tables, part.table: table}, {**result.figures, part.run: ran}
    save(replace(result, tables=tables, figures=figures, targets=[*others, *targets]))
    write(["spark"])


def _of_parts(last: Result | None) -> tuple[dict[str, Table], dict[str, str], list[Target]]:
    """Return the tables, the figures and the targets of the parts in the last result."""
    measured = [part for part in PARTS if last and part.table in last.tables]
    if last is None or not measured:
        return {}, {part.run: "not measured" for part in PARTS}, []
    prefixes = tuple(part.targets for part in measured)
    return (
        {part.table: last.tables[part.table] for part in measured},
        {part.run: last.figures.get(part.run, "not measured") for part in PARTS},
        [each for each in last.targets if each.what.startswith(prefixes)],
    )


def _rows(found: Found, files: bool) -> Iterator[tuple[str, ...]]:
    chosen = [each for each in found.all if each.way.endswith("-files") is files]
    return map(_row, sorted(chosen, key=lambda each: each.rows))


def _row(each: Measured) -> tuple[str, ...]:
    cells = f"{each.first:,.1f}", f"{each.again:,.1f}", f"{each.rate:,.0f}", f"{each.megabytes:,.0f}"
    return f"{each.rows:,}", NAMES[each.way], *cells


def _plot(found: Found) -> Plot:
    ways = [
        way
        for way in ("spark", "spark-numpy", "spark-acks", "polars-numpy", "polars", "duckdb")
        if found.of(way)
    ]
    lines = {NAMES[way]: [(each.rows / 1e6, each.again) for each in found.of(way)] for way in ways}
    return Plot(
        "CPU of folding ack logs to bitmaps, by their rows", "million rows", "CPU seconds", lines=lines
    )


def _figures(found: Found) -> Iterator[tuple[str, str]]:
    for way in ("spark", "spark-numpy", "spark-acks", "duckdb", "polars", "polars-numpy"):
        yield f"{way}-slope", f"{found.slope(way) / 1e6:.1f}"
        yield f"{way}-largest", f"{found.of(way)[-1].rate / 1e6:.1f}"
    smallest, *_, largest = found.of("spark")
    constant = smallest.again - smallest.rows / found.slope("spark")
    yield "constant", f"{constant:.1f}"
    yield "cold", f"{largest.first - largest.again:.0f}"
    yield "largest", f"{largest.rows / 1e6:.0f}"
    (files,) = found.of("spark-files")
    yield "files", f"{files.rate:,.0f}"
    if found.on_two:
        yield "files-on-two", f"{found.on_two.rows / found.on_two.seconds:,.0f}"


def _targets(found: Found) -> Iterator[Target]:
    yield from _rates(found)
    yield _ratio(found)
    yield from map(partial(_linear, found), found.alone)
    yield from map(_files, found.of("spark-files"))


def _rates(found: Found) -> Iterator[Target]:
    whole = found.of("spark")[-1]
    million = f"{whole.rows / 1e6:.0f} M"
    for way, least in (("spark", 14), ("spark-numpy", 9)):
        job = found.of(way)[-1]
        yield Target(
            f"{NAMES[way]}, of {million} string ids, rows a second and core",
            f"at least {least} M",
            f"{job.rate / 1e6:.1f} M",
            job.rate >= least * 1e6,
            f"what each run costs whatever its rows; {found.slope(way) / 1e6:.1f} M without it",
        )
    acks = found.of("spark-acks")[-1]
    yield Target(
        f"bulk_ack of {million} string ids with its pages through the store, CPU seconds",
        "at most 12",
        f"{acks.again:.1f}",
        acks.again <= 12,
        f"of which {acks.again - whole.again:.1f} are the requests and the tracker's code",
    )


def _ratio(found: Found) -> Target:
    whole = found.of("spark")[-1]
    sql = max(found.of(way)[-1].rate for way in ("duckdb", "polars"))
    ratio = whole.rate / sql
    return Target(
        f"bulk_ack --dry-run of {whole.rows / 1e6:.0f} M string ids, in the faster of DuckDB and Polars",
        "at least 2.5",
        f"{ratio:.2f}",
        ratio >= 2.5,
        f"it folds {sql / 1e6:.1f} M rows a second of one core",
    )


def _linear(found: Found, alone: Measured) -> Target:
    largest = found.of(alone.way)[-1]
    ratio = alone.rate / largest.rate
    return Target(
        f"{NAMES[alone.way]}, rows a CPU second at {alone.rows:,} in those at {largest.rows:,}",
        "at least 0.9",
        f"{ratio:.2f}",
        ratio >= 0.9,
        "125 MB of bits are in no cache of the core: an id takes 1.4 times as long, in memory",
    )


def _files(files: Measured) -> Target:
    return Target(
        "fan_out to files, rows a second and core",
        "at least 600,000",
        f"{files.rate:,.0f}",
        files.rate >= 600_000,
        "a third each reads Parquet, joins JSON and writes Parquet; Spark takes half a second of each run",
    )
