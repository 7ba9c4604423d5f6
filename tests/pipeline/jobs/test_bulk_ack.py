"""The command: what it prints, how it ends, and how it takes logs as they arrive."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from fanin.tracker import State, Tracker
from pipeline.jobs import bulk_ack
from pipeline.shared_by_jobs import session
from tests.pipeline.bulk_ack.test_run import TENANT, opened
from tests.pipeline.logs import write_log


@pytest.fixture
def tracker(tables):
    return Tracker(tables.store)


@pytest.fixture
def command(request, tables, tmp_path, monkeypatch, capsys):
    """Runs the job: its exit status, and what it printed."""

    def started(*_, **__):
        return nullcontext(request.getfixturevalue("spark"))

    monkeypatch.setattr(session, "spark_session", started)
    named = ["--batches-table", tables.batches, "--pages-table", tables.pages, "--region", tables.region]
    named += ["--tables-endpoint-url", tables.endpoint, "--tenant", TENANT]
    named += ["--rejects", str(tmp_path / "rejects")]

    def run(*arguments: str):
        status = 0
        try:
            bulk_ack.main([*arguments, *named])
        except SystemExit as end:
            status = end.code
        return status, capsys.readouterr().out

    return run


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("log.xlsx", r"bulk_ack: .*log.xlsx: a log's name ends in one of .parquet, .*"),
        ("_log.jsonl", "bulk_ack: .*_log.jsonl: Spark skips names that begin with _ or .*"),
    ],
)
def test_a_file_that_cannot_be_read_is_named_in_one_sentence(command, tmp_path, name, message):
    (tmp_path / name).write_bytes(b"PAR1")

    status, _ = command(str(tmp_path / name))

    assert re.fullmatch(message, status)


LOADED = """import sys, pyarrow, pipeline.jobs.bulk_ack, pipeline.engine_without_spark.arrow
pipeline.engine_without_spark.arrow.without_pandas()
pyarrow.array([1])
print({'pandas', 'pyspark', 'py4j'} & set(sys.modules))"""


def test_a_small_log_is_acked_without_spark_and_the_output_says_so(command, tracker, tmp_path):
    batch_id, ids = opened(tracker, 3000)
    log = write_log(tmp_path / "log.jsonl", [*ids, "junk"])

    status, printed = command(str(log))

    assert (status, tracker.get(TENANT, batch_id).state) == (bulk_ack.SOME_REJECTED, State.COMPLETE)
    assert printed.startswith(f"engine: local ({log.stat().st_size:,} bytes of input")
    assert subprocess.check_output([sys.executable, "-c", LOADED], text=True) == "set()\n"


PLACES = "--batches-table b --pages-table p"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("x.csv --tenant t", "--batches-table and --pages-table"),
        (f"x.csv --tenant t {PLACES}", "--rejects"),
        (f"x y --tenant t {PLACES} --rejects a --checkpoint c", "one folder"),
        (f"x --tenant t {PLACES} --rejects a --every 9", "--checkpoint"),
        (f"x {PLACES} --rejects a", "--tenant"),
        ("x --tenant t --rate 0", "expected a number above 0, got 0"),
    ],
)
def test_options_that_do_not_go_together_are_refused(arguments, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        bulk_ack.main(arguments.split())
    assert message in capsys.readouterr().err


def forget_last_commit(checkpoint: Path) -> str:
    """Leave the checkpoint as a job does that dies before its first micro-batch is taken; the name of it."""
    (taken,) = checkpoint.glob("*.taken")
    taken.unlink()
    return taken.stem


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.proof)])
def test_files_are_taken_once_as_they_arrive_however_old_they_are_and_a_repeated_micro_batch_changes_nothing(
    command, tracker, tables, tmp_path, engine
):
    """One checkpoint: its first micro-batch; then, by another process, this one again and the next."""
    batch_id, ids = opened(tracker, 3000)
    logs, checkpoint, rejects = tmp_path / "logs", tmp_path / "checkpoint", tmp_path / "rejects"
    write_log(logs / "1.jsonl", [*ids[:1500], (ids[9], "failure"), (ids[2999], "failure", "why"), "junk"])
    given = [str(logs), "--checkpoint", str(checkpoint), "--json", "--engine", engine]
    first = command(*given)
    died = forget_last_commit(checkpoint)
    late = time.time() - 30 * 86400
    os.utime(write_log(logs / "below" / "2.parquet", ids[1000:]), (late, late))
    second, third = command(*given), command(*given)

    assert [acked(printed) for _, printed in (first, second, third)] == [
        [(1503, 1501, 3)], [(1503, 0, 0), (2000, 1499, 2)], []
    ]  # fmt: skip
    assert [status for status, _ in (first, second, third)] == [bulk_ack.SOME_REJECTED] * 2 + [0]
    (last,) = {path.stem for path in checkpoint.glob("*.taken")} - {died}
    batch = tracker.get(TENANT, batch_id)
    assert (batch.state, batch.completed_by) == (State.COMPLETE, f"bulk-ack:{last}")
    assert rejected(rejects) == {f"run={died}": ["junk"]}, "apart from those of other micro-batches"


def acked(printed: str) -> list[tuple[int, int, int]]:
    """(acks, new ones, pages written) of each micro-batch."""
    events = map(json.loads, printed.splitlines())
    return [(e["acks"], e["fresh"], e["written"]) for e in events if e["event"] == "acked"]


def rejected(folder: Path) -> dict[str, list[str]]:
    """The rejected ids by the folder of their run."""
    runs = {path.name: pq.read_table(path, partitioning=None) for path in folder.iterdir()}
    return {run: found["item_id"].to_pylist() for run, found in runs.items() if found.num_rows}
