"""Each verb over the deployed handlers: what it prints on a pipe, as JSON, and how it ends."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import parse_qsl, urlsplit
from uuid import UUID

import pytest

from fanin.cli.arguments.api import Api
from fanin.cli.arguments.names import BatchNames
from fanin.cli.terminal.columns import read_shown
from fanin.cli.terminal.exits import ExitCode
from fanin.s3_publications.model import Position
from functions.wiring import s3_publications
from tests.api.gateway import JSON, Answer


def opened(fanin, key, count=0):
    """The id of a new batch, and the range of its items."""
    batch_id = fanin("open", key).ok().out.strip()
    return batch_id, fanin("add", key, str(count)).ok().out.strip() if count else ""


def test_the_first_ten_minutes(fanin):
    batch_id, items = opened(fanin, "hello", 10_000)
    closed = fanin("close", "hello").ok()
    outstanding = fanin("outstanding", "hello").ok()
    acked = fanin("ack", "-", stdin=outstanding.out).ok()

    assert str(UUID(batch_id)) == batch_id
    assert items == outstanding.out.strip() == f"{items.rpartition(':')[0]}:0-9999"
    assert (closed.out, acked.out) == ("CLOSED\n", "accepted\t10000\n")
    assert "complete: hello (succeeded)" in acked.err
    assert "result\tsucceeded" in fanin("status", "hello").ok().lines


def test_a_write_names_its_host_on_standard_error_and_a_read_does_not(fanin, served):
    host = served.url.partition("//")[2]

    assert fanin("open", "a").ok().err == f"open at {host}\n"
    assert fanin("status", "a").ok().err == ""


def test_ids_are_printed_and_taken_one_a_line(fanin):
    batch_id, _ = opened(fanin, "k")
    ids = fanin("add", "k", "3", "--ids").ok().lines
    assert fanin("outstanding", "k", "--ids").ok().lines == ids
    completed = fanin("ack", ids[1], "-", stdin=f"\n{ids[0]}\n  {ids[0]} \n").ok()

    assert [item.rpartition(":")[2] for item in ids] == ["0", "1", "2"]
    assert completed.lines == ["accepted\t2", "duplicate\t1"]
    assert fanin("outstanding", batch_id).ok().lines == [ids[2]]


def test_failures_are_ranges_ids_and_reasons(fanin):
    _, items = opened(fanin, "k", 20)
    prefix = items.rpartition(":")[0]
    fanin("fail", f"{prefix}:3-5", f"k:{prefix.partition(':')[2]}:9", "-m", "no\tsuch thing").ok()

    assert fanin("failures", "k").ok().lines == [f"{prefix}:3-5", f"{prefix}:9"]
    assert fanin("failures", "k", "--ids").ok().lines == [f"{prefix}:{index}" for index in (3, 4, 5, 9)]
    sampled = fanin("failures", "k", "--reasons").ok()
    item, at, reason = sampled.lines[0].split("\t")
    assert item.startswith(prefix)
    assert (at[:3], reason) == ("202", "no such thing")
    assert "2 of 4 failed items have a reason that is kept; all: fanin failures k" in sampled.err


def test_an_item_that_cannot_be_acked_is_1_and_the_others_are_acked(fanin):
    _, items = opened(fanin, "k", 5)
    prefix = items.rpartition(":")[0]
    completed = fanin("ack", f"{prefix}:4", f"{prefix}:5-6")

    assert (completed.code, completed.lines) == (ExitCode.REFUSED, ["accepted\t1", "out_of_range\t2"])
    assert completed.err.splitlines()[-1].startswith("not all items were acked: 2 out_of_range")


def test_what_stands_before_a_line_that_is_no_item_is_acked(fanin):
    _, items = opened(fanin, "k", 5)
    completed = fanin("ack", "-", stdin=f"{items}\nnonsense\n")

    assert (completed.code, completed.lines) == (ExitCode.USAGE, ["accepted\t5"])
    assert "line 2: 'nonsense' is no item" in completed.err


def test_a_list_has_the_newest_first_by_key_state_and_label(fanin):
    first, _ = opened(fanin, "a")
    second, _ = opened(fanin, "b")
    third = fanin("open", "a", "--again", "--label", "team:search").ok().out.strip()
    fanin("close", second)

    def ids(*options):
        return [line.split("\t")[0] for line in fanin("list", *options).ok().lines]

    assert ids() == ids("--all") == [third, second, first]
    assert ids("--limit", "1") == ids("--label", "team:search") == [third]
    assert ids("--key", "a") == [third, first]
    assert ids("--state", "OPEN") == [third, first]


def test_every_option_of_open_arrives(fanin, tmp_path):
    _, items = opened(fanin, "parent", 2)
    options = "--deadline 1d12h --expected 7 --max-failures 3 --max-failure-percent 50 --mode exact"
    options += " --retention open=1d --retention complete=2h --notify-at 50% --notify-at firstFailure"
    options += f" --stuck-after 15m --label a:b:c --label d: --parent parent:{items.split(':')[1]}:1"
    fanin("open", "k", *options.split()).ok()
    (found,) = fanin("status", "k", "--json").ok().documents

    assert (found["expectedItems"], found["maxFailures"], found["maxFailurePercent"]) == (7, 3, 50)
    assert found["labels"] == {"a": "b:c", "d": ""}
    assert found["notifyAt"] == ["firstFailure", "50%"]
    assert found["stuckAfterSeconds"] == 900
    assert found["parentItemId"] == items.replace(":0-1", ":1")
    assert found["deadlineAt"] > found["createdAt"]


def test_a_task_token_comes_from_a_file_or_standard_input_and_goes_to_no_answer(fanin, tmp_path, environment):
    environment.setenv("FANIN_RESUMES", "taskToken")
    file = tmp_path / "token"
    file.write_text("the-token\n")
    for place, stdin in ((str(file), None), ("-", "the-token\n")):
        completed = fanin("open", "--deadline", "1h", "--task-token-file", place, "--json", stdin=stdin).ok()

        assert "the-token" not in completed.out + completed.err


def test_an_open_that_is_interrupted_names_the_key_to_repeat_it_with(fanin, served, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Api, "post", interrupted)
    completed = fanin("open", "k")

    assert completed.code == ExitCode.INTERRUPTED
    assert "interrupted; it may have been done: repeat it with --idempotency-key " in completed.err


def test_open_and_add_are_repeated_under_their_key(fanin, served):
    ids = {fanin("open", "k", "--idempotency-key", "one").ok().out for _ in range(2)}
    ranges = {fanin("add", "k", "5", "--idempotency-key", "two").ok().out for _ in range(2)}

    assert (len(ids), len(ranges)) == (1, 1)
    assert "total\t5" in fanin("status", "k").ok().lines


def test_a_key_of_a_live_batch_is_opened_again_only_if_asked_for(fanin):
    batch_id, _ = opened(fanin, "k", 1)
    refused = fanin("open", "k")

    assert (refused.code, refused.out) == (ExitCode.REFUSED, "")
    assert f"'k' names a live batch already: {batch_id} (OPEN); go on with it" in refused.err
    assert fanin("open", "k", "--again").ok().out.strip() != batch_id
    assert fanin("open", "k", "--idempotency-key", "one").ok().out.strip() != batch_id
    for each in fanin("list").ok().lines:
        fanin("cancel", each.split("\t")[0], "--yes").ok()
    assert fanin("open", "k").ok().out


def test_cancel_needs_yes_without_a_terminal(fanin):
    opened(fanin, "k")
    refused = fanin("cancel", "k")

    assert (refused.code, refused.out) == (ExitCode.USAGE, "")
    assert "give --yes" in refused.err
    assert fanin("cancel", "k", "--yes", "-m", "too late").ok().out == "CANCELLED\n"
    assert "reason\ttoo late" in fanin("status", "k").ok().lines
    again = fanin("cancel", "k", "--yes", "-m", "another").ok()
    assert again.err.endswith("it had ended so before, with the reason 'too late'\n")


def test_cancel_of_a_batch_that_has_ended_otherwise_is_refused_and_of_a_cancelled_one_is_done(fanin):
    completed, _ = opened(fanin, "done", 1)
    fanin("close", completed).ok()
    fanin("ack", "-", stdin=fanin("outstanding", completed).out).ok()
    refused = fanin("cancel", completed, "--yes")

    assert (refused.code, refused.out) == (ExitCode.REFUSED, "")
    assert refused.err.endswith(f"batch {completed} is COMPLETE (succeeded); it was not cancelled\n")

    live, _ = opened(fanin, "live")
    for _ in range(2):
        assert fanin("cancel", live, "--yes").ok().out == "CANCELLED\n"
    closed = fanin("close", live)
    assert (closed.code, closed.out) == (ExitCode.REFUSED, "")
    assert "is CANCELLED" in closed.err


def test_the_children_of_a_batch_or_an_item_are_listed_and_cancelled_with_it(fanin):
    _, items = opened(fanin, "top", 2)
    group = items.split(":")[1]
    for name, policy in (("a", "any"), ("b", "failed")):
        fanin("open", name, "--parent", f"top:{group}:0", "--parent-fails-on", policy).ok()
    shown = [line.split("\t") for line in fanin("children", "top").ok().lines]

    assert sorted((row[0], row[2], row[3]) for row in shown) == [
        (items.removesuffix("-1"), name, "OPEN") for name in ("a", "b")
    ]
    assert len(fanin("children", f"top:{group}:0").ok().lines) == 2
    assert fanin("children", f"top:{group}:1").ok().lines == []
    fanin("open", "done", "--parent", f"top:{group}:1").ok(), fanin("close", "done").ok()
    assert fanin("children", f"top:{group}:1").ok().lines == []
    assert "done\tCOMPLETE" in fanin("children", "top", "--done").ok().lines[2]
    assert fanin("children", f"top:{group}:0-1").code == ExitCode.USAGE
    assert "parentFailsOn\tany" in fanin("status", "a").ok().lines
    fanin("open", "c", "--parent", fanin("add", "a", "1").ok().out.strip()).ok()
    cancelled = fanin("cancel", "top", "--children", "--yes").ok()
    assert cancelled.err.endswith("with 3 live batches below it\n")
    assert {fanin("status", name, "--json").ok().documents[0]["state"] for name in "abc"} == {"CANCELLED"}


def test_a_parent_shows_which_child_is_at_work_and_which_hangs_and_a_list_how_far_each_is(fanin, memory):
    _, items = opened(fanin, "night", 3)
    for at, name in enumerate(("resize", "hangs", "print")):
        item = f"{items.removesuffix(':0-2')}:{at}"
        fanin("open", name, "--parent", item, "--stuck-after", "1m").ok(), fanin("add", name, "4").ok()
    fanin("ack", "-", stdin=fanin("outstanding", "resize").out.replace(":0-3", ":0-1")).ok()
    fanin("cancel", "print", "--yes").ok()
    for key, batch in memory.batches.items():
        is_stalled = batch.user_key == "hangs"
        memory.batches[key] = replace(batch, stalled_at=batch.created_at) if is_stalled else batch

    assert "children\tresize, hangs (stalled), print (cancelled)" in fanin("status", "night").ok().lines
    shown = [line.split("\t") for line in fanin("children", "night").ok().lines]
    assert [(row[2], *row[-3:]) for row in shown] == [
        ("resize", "2", "0", ""),
        ("hangs", "0", "0", "true"),
        ("print", "0", "0", ""),
    ]
    assert "progress" not in fanin("children", "night", "--json").ok().documents[0]


def test_a_publication_by_the_stack_shows_its_rows_and_bytes(fanin, memory, monkeypatch):
    batch_id, _ = opened(fanin, "catalog-7", 3)
    (batch,) = memory.batches.values()
    position = Position(size=400, read=100, rows=3, parts=1, etag="e")
    publications = SimpleNamespace(get=lambda _tenant, name: {batch_id: (batch, position)}[name])
    monkeypatch.setattr(s3_publications, "publications", lambda: publications)
    shown = fanin("publication", "catalog-7").ok().lines
    (found,) = fanin("publication", "catalog-7", "--json").ok().documents

    assert {"rows\t3", "readBytes\t100", "sizeBytes\t400", "isPublished\tfalse"} <= set(shown)
    assert read_shown(found) == "100 of 400 bytes (25.0 %)"


def test_parent_fails_on_without_a_parent_is_refused(fanin):
    assert "--parent-fails-on needs --parent" in fanin("open", "k", "--parent-fails-on", "any").err


def test_a_user_key_is_its_newest_batch_and_one_of_two_live_ones_is_refused(fanin):
    first, second = (fanin("open", "k:1", "--again").ok().out.strip() for _ in range(2))
    for verb in ("close", "status"):
        refused = fanin(verb, "k:1")
        assert refused.code == ExitCode.REFUSED
        assert first in refused.err
        assert second in refused.err
    fanin("cancel", first, "--yes").ok()

    assert f"batchId\t{second}" in fanin("status", "k:1").ok().lines
    assert fanin("close", "k:1").ok().out in ("CLOSED\n", "COMPLETE\n")


def test_a_user_key_that_is_not_in_the_list_yet_is_looked_for_again(fanin, served, monkeypatch):
    pauses, real = [], served.answer
    monkeypatch.setattr(BatchNames.__init__, "__defaults__", (pauses.append,))
    opened(fanin, "k")
    late = [Answer(200, JSON, '{"batches": []}')] * 2
    monkeypatch.setattr(served, "answer", lambda *asked: late.pop() if late else real(*asked))

    assert fanin("close", "k").ok().out == "COMPLETE\n"
    assert len(pauses) == 2
    assert max(pauses) < 1


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("nope",),
        ("close",),
        ("add", "k", "0"),
        ("add", "k", "3", "--ids", "--json"),
        ("ack", "k:7"),
        ("ack", "k:00000000-0000-8000-8000-000000000000:9-7"),
        ("open", "--deadline", "6x"),
        ("open", "--deadline", "999999999w"),
        ("open", "--deadline", "500d"),
        ("open", "--label", "nope"),
        ("open", "--notify-at", "20%"),
        ("open", "--retention", "forever=1d"),
        ("open", "--retention", "open=300d", "--retention", "closed=300d"),
        ("open", "--parent", "k:00000000-0000-8000-8000-000000000000:0-1"),
        ("open", "--on-failures", "fail"),
        ("open", "k" * 257),
        ("failures", "k", "--reasons", "--ids"),
        ("list", "--state", "open"),
        ("open", "--label", "a:b", "--label", "a:c"),
        ("open", "--task-token-file", "/nowhere/token"),
        ("wait", "k", "--timeout", "soon"),
        ("watch", "k", "--timeout", "0"),
        ("local", "work", "app:handler", "--on", "BatchCompleted", "--queue", "endings.fifo"),
        ("status", "k", "--url", "http://127.0.0.1:1", "--stage", "dev"),
    ],
    ids=" ".join,
)
def test_a_command_line_that_is_wrong_is_2_and_sends_nothing(fanin, served, arguments):
    completed = fanin(*arguments)

    assert (completed.code, completed.out) == (ExitCode.USAGE, "")
    assert completed.err
    assert "Traceback" not in completed.err
    assert served.asked == []


def test_every_filter_of_a_list_is_sent(fanin, served):
    served.faults.append(Answer(200, JSON, '{"batches": []}'))
    options = "--key-prefix cat --state OPEN --condition problems --label a:b --since 2026-01-01T00:00:00Z"
    options += " --until 2026-02-01T01:00:00+01:00"
    assert fanin("list", *options.split()).ok().out == ""
    sent = dict(parse_qsl(urlsplit(served.asked[0][1]).query))

    assert (sent["userKeyPrefix"], sent["state"], sent["label"]) == ("cat", "OPEN", "a:b")
    assert sent["condition"] == "problems"
    assert sent["openedFrom"] == "2026-01-01T00:00:00+00:00"
    assert sent["openedTo"] == "2026-02-01T01:00:00+01:00"
