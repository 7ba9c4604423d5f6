"""The suite passes a tracker that is right, and finds each rule that another one breaks."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time

import pytest

from fanin_conformance import CASES, Adapter, Effort, NotSupported, Verdict, judge
from fanin_conformance.__main__ import main
from fanin_conformance.reporting import clean
from lab.peers.sites.carlyle_model import Carlyle
from tests.conformance.broken import BROKEN, AddsTwice
from tests.conformance.reference import Reference
from tests.conformance.serving import Routes, served

SMALL = Effort(rounds=9, items=2000, timeout=30)
RACES = Effort(rounds=30, items=2000, timeout=30)


def ended(tracker: Adapter, effort: Effort = SMALL) -> dict[str, set[str]]:
    """The cases by how they ended; an error counts as a failure."""
    found: dict[str, set[str]] = {"pass": set(), "fail": set(), "not supported": set()}
    for each in judge(tracker, CASES.values(), effort):
        found["fail" if each.is_bad else each.verdict.value].add(each.case.id)
    return found


def test_the_reference_passes_every_case():
    assert ended(Reference()) == {"pass": set(CASES), "fail": set(), "not supported": set()}


@pytest.mark.parametrize("broken", BROKEN, ids=lambda each: each.__name__)
def test_a_broken_rule_fails_its_cases_and_no_other(broken):
    effort = RACES if any(CASES[number].is_race for number in BROKEN[broken]) else SMALL

    found = {each.case.id: each.seen for each in judge(broken(), CASES.values(), effort) if each.is_bad}

    assert found.keys() == BROKEN[broken], found


def test_every_case_finds_something():
    assert set().union(*BROKEN.values()) == set(CASES)


@pytest.mark.proof
def test_carlyles_order_of_statements_fails_its_races_and_more():
    found = ended(Carlyle(), RACES)

    assert found["fail"] == {
        *("T7", "T9", "T10", "T11", "T12", "T14", "T15", "T16", "T17", "T18", "T19", "T20", "T21"),
        *("T24", "T28", "T29", "T30", "T31", "T38"),
    }
    assert found["not supported"] == {"T25", "T27", "T34", "T36", "T37"}


def test_over_http_the_reference_passes_and_a_broken_rule_fails(capsys):
    options = ["--rounds", "6", "--items", "2000", "--json"]
    timed = {"T29", "T30", "T31", "T37"}
    with served(Reference()) as url:
        code = main(["--url", url, "--cases", ",".join(CASES.keys() - timed), *options])
    cases = {each["id"]: each["verdict"] for each in json.loads(capsys.readouterr().out)["cases"]}

    assert code == 0
    assert {name for name, verdict in cases.items() if verdict != "pass"} == {"T24", "T28", "T38"}
    with served(AddsTwice()) as url:
        assert main(["--url", url, "--cases", "t1,T12,T15", *options]) == 1
    found = [each["verdict"] for each in json.loads(capsys.readouterr().out)["cases"]]
    assert found == ["pass", "pass", "fail"]


def test_the_command_prints_a_row_a_case_and_exits_with_one_if_a_case_fails():
    command = [sys.executable, "-m", "fanin_conformance", "--cases", "T1,T2,T15", "--rounds", "7"]
    command += ["--adapter", "tests.conformance.broken:AddsTwice"]
    completed = subprocess.run(command, capture_output=True, text=True, check=False)

    lines = completed.stdout.splitlines()
    assert (completed.returncode, completed.stderr) == (1, "")
    assert lines[0].startswith("3 cases, 7 rounds of each race (all: 10,000)")
    assert [line.split()[:2] for line in lines[1:4]] == [["T1", "pass"], ["T2", "pass"], ["T15", "fail"]]
    assert lines[-1] == "3 cases: 2 pass, 1 fail"
    assert main(["--cases", "T1", "--adapter", "tests.conformance.reference:Reference"]) == 0


@pytest.mark.parametrize(
    "arguments",
    [
        ["--cases", "T99", "--url", "http://127.0.0.1:1"],
        ["--adapter", "tests.conformance.reference:None_", "--url", "x"],
        ["--adapter", "no.such.module:Class"],
        [],
        ["--rounds", "0"],
        ["--timeout", "0"],
        ["--timeout", "nan"],
        ["--adapter", "fanin_conformance:Adapter"],
        ["--adapter", "json:dumps", "--url", "x"],
        ["--adapter", "pathlib:Path", "--url", "x"],
        ["--url", "http://127.0.0.1:1", "--rounds", "many"],
    ],
)
def test_an_invalid_command_line_is_exit_code_two(arguments, capsys, monkeypatch):
    monkeypatch.delenv("FANIN_URL", raising=False)
    with pytest.raises(SystemExit) as exit_:
        main(arguments)

    assert exit_.value.code == 2
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:1", "http://127.0.0.1:1 gives no answer: "),
        ("http://no.such.host.invalid", "http://no.such.host.invalid gives no answer: "),
        ("localhost:8787", "did you mean http://localhost:8787?"),
    ],
)
def test_a_url_at_which_nothing_answers_is_said_once_and_no_case_is_run(url, expected, capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--url", url])

    printed = capsys.readouterr()
    assert (exit_.value.code, printed.out, printed.err.count(expected)) == (2, "", 1)


def test_a_url_without_the_api_below_it_is_said_and_no_case_is_run(capsys):
    class ApiGateway(Routes):
        def answer(self, method, path, body, key):
            return 404, {"message": "Not Found"}

    with served(Reference(), ApiGateway) as url, pytest.raises(SystemExit) as exit_:
        main(["--url", f"{url}/stage"])

    printed = capsys.readouterr()
    assert (exit_.value.code, printed.out) == (2, "")
    assert "an API Gateway is there, without a route for /v1/batches/" in printed.err


def test_an_adapter_that_imports_what_is_not_there_is_distinguished_from_one_that_is_not_there(
    tmp_path, monkeypatch, capsys
):
    (tmp_path / "counters.py").write_text("import no_such_client\n")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(SystemExit):
        main(["--adapter", "counters:Counter"])
    assert "counters imports no_such_client, which is not installed" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--adapter", "no_such_counters:Counter"])
    assert "No module named 'no_such_counters'; give module:Class" in capsys.readouterr().err


def test_a_run_that_is_interrupted_ends_with_a_sentence(monkeypatch, capsys):
    def interrupted(*_arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr("fanin_conformance.__main__.judge", interrupted)

    assert main(["--adapter", "tests.conformance.reference:Reference"]) == 130
    assert capsys.readouterr().err.startswith("interrupted; ")


def test_the_cases_are_listed_with_their_origin(capsys):
    assert main(["--list"]) == 0

    listed = capsys.readouterr().out
    assert listed.count("From: ") == len(CASES) == 30
    assert "T2   Given an empty batch, when it is closed, then it is complete, and reported once." in listed


def test_a_tracker_that_hangs_fails_and_ends_the_suite():
    class Hangs(Reference):
        def open(self, **_: object) -> str:
            threading.Event().wait(60)
            return super().open()

    started = time.monotonic()
    found = judge(Hangs(), CASES.values(), Effort(rounds=1, items=10, timeout=0.1))

    assert [each.verdict for each in found[:3]] == [Verdict.FAIL] * 3
    assert all(each.seen.startswith("not run") for each in found[4:])
    assert time.monotonic() - started < 30


def test_a_call_that_hangs_in_a_race_fails_it():
    class HangsInTheRace(Reference):
        def ack(self, items, token=None):
            threading.Event().wait(60)
            return super().ack(items, token)

    (found,) = judge(HangsInTheRace(), [CASES["T9"]], Effort(rounds=1, timeout=0.3))

    assert found.is_bad


def test_what_an_adapter_lacks_is_not_supported_and_its_errors_are_errors():
    class Lacks(Reference):
        def open(self, **options):
            if options.get("deadline_seconds"):
                raise NotSupported("deadlines")
            return super().open(**options)

        def cancel(self, batch):
            raise ZeroDivisionError("boom")

    found = {each.case.id: each for each in judge(Lacks(), map(CASES.get, ("T29", "T36")), SMALL)}

    assert (found["T29"].verdict, found["T29"].seen) == (Verdict.NOT_SUPPORTED, "deadlines")
    assert (found["T36"].verdict, found["T36"].seen) == (Verdict.ERROR, "ZeroDivisionError: boom")
    assert (found["T29"].is_bad, found["T36"].is_bad) == (False, True)


def test_what_a_tracker_answered_is_printed_as_one_clean_line():
    assert clean("a\x1b[31m\r\nb" + "c" * 300) == "a?[31m b" + "c" * 149 + "..."
