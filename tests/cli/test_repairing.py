"""The verbs for what has gone wrong: end, reopen, delete, map, and the administration of a work queue."""

from __future__ import annotations

import pytest

from fanin.cli.terminal.exits import ExitCode
from tests.cli.test_lists import jobs, store
from tests.cli.test_verbs import opened

__all__ = ["jobs", "store"]


def test_a_batch_is_ended_with_a_reason_and_its_items_are_reopened(fanin):
    batch_id, items = opened(fanin, "night", 3)
    fanin("fail", f"{items.rpartition(':')[0]}:1").ok()
    assert fanin("end", "night", "-m", "no disk", "--yes").ok().out == "FAILED\n"
    again = fanin("reopen", batch_id, "--items", "unfinished").ok().out.strip()

    assert again.rpartition(":")[2] == "0-2"
    assert f"originBatchId\t{batch_id}" in fanin("status", again.partition(":")[0]).ok().lines
    assert "reason\tno disk" in fanin("status", batch_id).ok().lines


def test_what_cannot_be_undone_asks_or_takes_yes(fanin):
    opened(fanin, "night", 1)
    for verb in (("end", "night", "-m", "x"), ("delete", "night")):
        refused = fanin(*verb)
        assert refused.code == ExitCode.USAGE
        assert "--yes" in refused.err


def test_a_live_batch_is_not_deleted(fanin):
    opened(fanin, "night", 1)
    refused = fanin("delete", "night", "--yes")

    assert refused.code == ExitCode.REFUSED
    assert "cancel it first" in refused.err


def test_a_map_is_a_row_for_each_part(fanin):
    _, items = opened(fanin, "night", 16)
    prefix = items.rpartition(":")[0]
    fanin("ack", f"{prefix}:0-4").ok()
    fanin("fail", f"{prefix}:9").ok()
    rows = [line.split("\t") for line in fanin("map", "night", "--cells", "2").ok().lines]

    assert [row[:3] for row in rows] == [["0", "7", "5"], ["8", "15", "1"]]
    assert [row[4] for row in rows] == ["false", "true"]
    assert sum(fanin("map", "night", "--json").ok().documents[0]["acked"]) == 6


@pytest.mark.parametrize(("verb", "printed"), [("pause", "paused"), ("resume", "resumed")])
def test_a_queue_is_paused_and_resumed(fanin, jobs, verb, printed):
    assert fanin("queue", verb, "thumbs").ok().out == f"{printed}\n"


def test_dead_jobs_are_named_or_all_of_them(fanin, jobs):
    assert fanin("queue", "revive", "thumbs").code == ExitCode.USAGE
    assert fanin("queue", "revive", "thumbs", "--all").ok().out == "0 revived\n"
    refused = fanin("queue", "revive", "thumbs", "nosuch")
    assert refused.code == ExitCode.REFUSED
    assert "DEAD_ID" in refused.err
    assert "fanin jobs thumbs --state dead" in refused.err
    assert "deadId" not in refused.err


def test_a_queue_is_removed_with_its_jobs_by_force_alone(fanin, jobs):
    assert fanin("queue", "remove", "thumbs", "--yes").code == ExitCode.REFUSED
    assert fanin("queue", "remove", "thumbs", "--yes", "--force").ok().out == "removing\n"


def test_a_queue_that_does_not_exist_is_not_found(fanin, jobs):
    assert fanin("queue", "pause", "nosuch").code == ExitCode.REFUSED
