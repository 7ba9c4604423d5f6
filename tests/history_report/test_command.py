"""``fanin report``: the page it writes, and what it says where it cannot."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from fanin.cli.app import app
from tests.cli.test_imports import MISSING, command

COUNTS = dict.fromkeys(("acked", "failed", "healed"), pa.int64())
BATCHES = {
    "batch_id": pa.string(),
    "state": pa.string(),
    "is_orphan": pa.bool_(),
    "outstanding": pa.int64(),
    **COUNTS,
}
MOMENT = pa.timestamp("us", "UTC")
ARCHIVE = {"path": pa.string(), "since": MOMENT, "until": MOMENT}
EMPTY = ("deliveries", "latencies", "tails", "throughput", "histogram", "stragglers", "reasons")
EMPTY += ("targets", "sizes", "queues")


@pytest.fixture
def folder(tmp_path):
    """The tables over an archive with one open batch, in the columns that the report needs."""

    def write(name, columns, *rows):
        (tmp_path / "out" / name).mkdir(parents=True)
        table = pa.Table.from_pylist(list(rows), pa.schema(columns.items()))
        pq.write_table(table, tmp_path / "out" / name / "part-0.parquet")

    now = datetime(2026, 3, 1, 12, tzinfo=UTC)
    write("archive", ARCHIVE, {"path": "s3://b/changes", "since": now, "until": now})
    batch = {
        "batch_id": "0199a000",
        "state": "OPEN",
        "is_orphan": False,
        "outstanding": 0,
        "acked": 0,
        "healed": 0,
    }
    write("batches", {**BATCHES, "opened_at": MOMENT, "user_key": pa.string()}, {**batch, "user_key": "<i>"})
    for name in EMPTY:
        write(name, {"batch_id": pa.string()})
    return tmp_path / "out"


def report(*arguments):
    return CliRunner().invoke(app, ["report", *map(str, arguments)])


def test_the_page_is_written_and_its_path_is_printed(folder, tmp_path):
    page = tmp_path / "page.html"
    result = report(folder, "--out", page, "--json")

    assert (result.stderr, result.exit_code) == ("", 0)
    assert json.loads(result.stdout) == {"page": str(page)}
    assert "2026-03-01 12:00:00 to 2026-03-01 12:00:00 UTC, from s3://b/changes" in page.read_text()
    assert ">&lt;i&gt;</a>" in page.read_text()


def test_a_folder_without_tables_is_refused_with_what_to_name(tmp_path):
    result = report(tmp_path)

    assert (result.exit_code, result.stdout) == (1, "")
    needed = "name the folder that the job history wrote with --out"
    assert result.stderr == f"{tmp_path} has no table archive: {needed}\n"


def test_what_is_no_parquet_is_refused_and_named(folder):
    (folder / "batches" / "part-0.parquet").write_text("no Parquet")
    result = report(folder)

    assert result.exit_code == 1
    assert result.stderr.startswith(f"{folder}/batches cannot be read (")


def test_without_the_extra_the_line_that_installs_it_is_printed(folder):
    result = command("report", str(folder), before=MISSING % (["jinja2"],))

    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("fanin report needs jinja2")
    assert result.stderr.endswith(": pip install 'fanin[report]'\n")
