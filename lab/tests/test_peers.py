"""The judge of lab.peers, and its queue, workers and kills, by a scripted tracker without Redis."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from random import Random

import pytest

from lab.pages.results import kept
from lab.peers.__main__ import KILLED_RUNS, RUNS, SIZES, plans
from lab.peers.driving import Case, run
from lab.peers.duplicates import with_duplicates
from lab.peers.installing import missing
from lab.peers.judging import Handed, Line, judged, judged_results, parsed
from lab.peers.peers import PEERS
from lab.peers.report import keep_found
from lab.peers.sites.queues import _again
from lab.peers.sites.redis_client import _encoded

# A tracker that reports the end when it has done *ITEM*, by *ENDS* names; an item is a line of its input.
SCRIPT = """
import sys, time
from pathlib import Path
from lab.peers.log import Log
log = Log(Path(sys.argv[1]))
for item in sys.argv[3].split(","):
    log.work(item)
    if item == sys.argv[2]:
        for name in sys.argv[4].split():
            log.end(name)
time.sleep(60)
"""


class Scripted:
    """One worker does everything; the others do nothing."""

    def __init__(self, log, at, order, ends="a"):
        self.arguments = [str(log), at, order, ends]
        self.started = []

    def publish(self):
        pass

    def start(self):
        arguments = self.arguments if not self.started else [self.arguments[0], "", "0", ""]
        self.started.append(subprocess.Popen([sys.executable, "-c", SCRIPT, *arguments]))
        return self.started[-1]

    def sample(self):
        pass

    def facts(self):
        return {"requests": 3}


@pytest.fixture(autouse=True)
def two_workers(monkeypatch):
    monkeypatch.setattr("lab.peers.driving.WORKERS", 2)


def found(tmp_path, **script):
    site = Scripted(tmp_path / "log", **script)
    patience = 3 if script["at"] == "-" else 30
    result = run(site, Case(3, patience=patience, settle=0.3, limit=40), tmp_path / "log")
    assert all(each.poll() is not None for each in site.started)
    return result


@pytest.mark.parametrize(
    ("script", "verdict", "missing_items"),
    [
        ({"at": "2", "order": "0,1,0,2"}, "once", 0),
        ({"at": "1", "order": "0,1,2"}, "early", 1),
        ({"at": "2", "order": "0,1,2,1", "ends": "a b"}, "twice", 0),
        ({"at": "2", "order": "0,1,2", "ends": "a a"}, "once", 0),
        ({"at": "-", "order": "0,1"}, "never", 1),
    ],
)
def test_a_run_is_judged_by_what_its_processes_wrote(tmp_path, script, verdict, missing_items):
    result = found(tmp_path, **script)

    assert (result["verdict"], result["missing"], result["requests"]) == (verdict, missing_items, 3)


def test_a_worker_is_killed_once_and_replaced(tmp_path):
    site = Scripted(tmp_path / "log", at="-", order="0,1,2")

    result = run(site, Case(3, kill_at=1, patience=1, limit=40), tmp_path / "log")

    assert (result["killed"], len(site.started)) == (1, 3)


def test_a_worker_that_fails_by_itself_is_no_result(tmp_path):
    class Broken(Scripted):
        def start(self):
            return subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])

    with pytest.raises(RuntimeError, match="exited with 3"):
        run(Broken(tmp_path / "log", "-", "0"), Case(3, patience=5, limit=20), tmp_path / "log")


def lines(*texts: str) -> list[Line]:
    return [Line(*text.split(), float(at)) for at, text in enumerate(texts)]


def test_without_an_end_what_is_missing_was_never_done():
    assert judged(lines("work 0", "work 1"), 2).missing == 0
    assert judged(lines("work 0", "work 0"), 2).missing == 1


def test_an_end_is_early_and_twice():
    outcome = judged(lines("work 0", "end a", "work 1", "end b"), 2)

    assert (outcome.verdict, outcome.missing, outcome.ends, outcome.step) == ("early, twice", 1, 2, None)


def test_the_step_is_from_the_last_work_before_the_end():
    outcome = judged(lines("work 0", "work 1", "work 0", "end a", "work 1", "end a"), 2)

    assert (outcome.verdict, outcome.step, outcome.deliveries) == ("once", 1.0, 4)


def test_the_rate_leaves_the_first_and_the_last_tenth_out():
    slow_ends = [Line("work", str(item), at) for item, at in enumerate([-99, *range(9), 999])]

    assert judged(slow_ends, 10).rate == 1.0
    assert judged(slow_ends[:5], 10).rate == 0.0


def test_a_line_that_is_being_written_is_left_for_later():
    assert parsed("work 7 2000000000\nend 0 30") == [Line("work", "7", 2.0)]


def test_a_twentieth_of_the_messages_comes_again_after_its_first_delivery():
    deliveries = with_duplicates(range(1000), Random(1))

    first = [item for item, is_copy in deliveries if not is_copy]
    copies = {item: place for place, (item, is_copy) in enumerate(deliveries) if is_copy}
    assert first == list(range(1000))
    assert len(copies) == 50
    assert all(deliveries.index((item, False)) < place for item, place in copies.items())


def test_a_copy_of_a_message_of_celery_has_a_tag_of_its_own():
    message = b'{"body": "x", "properties": {"delivery_tag": "1", "priority": 0}}'

    assert b'"delivery_tag": "1"' not in _again(message)
    assert b'"body": "x"' in _again(message)


def test_commands_of_redis_are_encoded_with_their_lengths():
    assert _encoded(["SET", "k", 7, b"\xff"]) == b"*4\r\n$3\r\nSET\r\n$1\r\nk\r\n$1\r\n7\r\n$1\r\n\xff\r\n"


def test_programs_that_are_missing_are_all_named_with_what_installs_them():
    assert missing(lambda _: "/bin/it") == ""
    assert missing(lambda name: None if name != "node" else "/bin/node").splitlines() == [
        "missing: redis-server: apt-get install redis-server, or brew install redis",
        "missing: npm: it comes with Node",
    ]


def scripted_runs():
    """Return what a whole run would find, with figures that all differ."""
    for peer in PEERS.values():
        for cases in plans(SIZES, RUNS, KILLED_RUNS).values():
            for case in cases:
                is_early = peer.name.startswith("counter")
                yield {
                    "peer": peer.name,
                    "items": case.items,
                    "published": 1.5,
                    "killed": int(case.kill_at is not None),
                    "verdict": "early" if is_early else "once",
                    "missing": case.seed if is_early else 0,
                    "rate": 123.4,
                    "step": None if is_early else case.items / 1e6,
                    "requests": 2 * case.items,
                    **(
                        {}
                        if "Carlyle" in peer.name
                        else {"peak_bytes": 3 * case.items, "kept_bytes": case.items}
                    ),
                }


def test_the_tables_have_each_tracker_and_the_first_one_its_engine(tmp_path, monkeypatch):
    monkeypatch.setattr("lab.pages.results.RESULTS", tmp_path)

    keep_found(list(scripted_runs()))

    result = kept("peers")
    assert {name: len(table.rows) for name, table in result.tables.items()} == dict.fromkeys(result.tables, 9)
    assert all(table.columns[0] == "peer" for table in result.tables.values())
    assert result.tables["ends"].columns[1] == "engine"
    ends = {row[0]: row[2:] for row in result.tables["ends"].rows}
    assert ends["counter in Redis"] == ["early in 20", "early in 5", "1 to 19"]
    assert ends["fanin, singly"] == ["once in 20", "once in 5", "-"]
    steps = {row[0]: row[1:] for row in result.tables["step"].rows}
    assert steps["Celery chord"] == ["1.0 ms", "20.0 ms", "100.0 ms"]
    assert steps["counter in DynamoDB"] == ["-", "-", "-"]
    assert Counter(label.split(" (")[0] for label in result.plots["bytes"].bars)["Carlyle's statements"] == 0


def test_what_the_end_was_given_twice_or_not_at_all_is_counted():
    given = lines("work 0", "work 1", "end a", "result 0", "result 0", "result 2")

    assert judged_results(given, 3) == Handed(more=1, without=1, reading=4.0)
    assert judged(given, 2).verdict == "once"
    assert judged_results(lines("work 0"), 2) == Handed(0, 2, None)
