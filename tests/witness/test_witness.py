"""The comparison of engines, and a slice of it on the emulator."""

from __future__ import annotations

import json

import pytest

from tests.contract import dynalite
from tests.request_rules import shapes
from tests.witness import rules
from tests.witness.__main__ import available, main, missed, on_engines_alone
from tests.witness.legs import Leg, differences, read, rows

REPORT = """<testsuites><testsuite>
<testcase classname="tests.contract.queue.test_a" name="test_x[memory]"/>
<testcase classname="tests.contract.queue.test_a" name="test_x[dynamodb]"/>
<testcase classname="tests.contract.queue.test_a" name="test_y[dynamodb-2]">{}</testcase>
<testcase classname="tests.contract.test_rows" name="test_z"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_case_that_differs_is_counted():
    one, other = (
        read("moto", REPORT.format(""), {"a": set()}),
        read("emulator", REPORT.format("<failure/>"), {"a": set(), "b": set()}),
    )

    assert rows([one, other]) == [
        ["queue", "memory", "1", "1", "0", "0", "", "0"],
        ["queue", "moto", "2", "2", "0", "0", "1", "0"],
        ["queue", "emulator", "2", "1", "0", "1", "2", "1"],
        ["quotas, rows", "moto", "1", "0", "1", "0", "1", "0"],
        ["quotas, rows", "emulator", "1", "0", "1", "0", "2", "0"],
    ]
    assert other.failed == ["tests.contract.queue.test_a.test_y[dynamodb-2]"]


def test_a_case_of_one_engine_alone_differs():
    assert differences({"a": "passed"}, {"a": "passed", "b": "passed"}) == ["b"]


def test_a_case_that_a_partial_engine_skips_does_not_differ_and_one_that_fails_does():
    one = {"a": "passed", "b": "passed", "c": "passed"}
    other = {"a": "passed", "b": "skipped", "c": "failed"}

    assert differences(one, other) == ["b", "c"]
    assert differences(one, other, is_partial=True) == ["c"]


def test_a_request_that_a_partial_engine_was_not_sent_is_not_missed_and_one_that_is_not_listed_is_found():
    full = Leg("moto", {}, MEMORY, dict.fromkeys(shapes.listed(), SENT_BY))

    assert missed([full, Leg("dynalite", {}, {}, {})]) == []
    assert missed([full, Leg("dynalite", {}, {}, {"PutItem new": SENT_BY})]) == [
        "not listed, sent on dynalite: PutItem new"
    ]


def test_an_engine_that_is_not_installed_is_named_with_the_line_that_installs_it(monkeypatch, capsys):
    monkeypatch.setattr(dynalite, "is_installed", lambda: False)

    assert available(["moto", "dynalite"]) == ["moto"]
    assert f"without dynalite, which is not installed: {dynalite.INSTALL}" in capsys.readouterr().err


MEMORY = {"tests.contract.queue.test_a.test_x[memory]": "passed"}
SENT_BY = {"tests/contract/queue/test_a.py::test_x"}


def test_a_request_that_an_engine_was_not_sent_is_missed():
    listed = sorted(shapes.listed())
    full = Leg("moto", {}, MEMORY, dict.fromkeys(listed, SENT_BY))
    part = Leg("emulator", {}, {}, dict.fromkeys(listed[1:], SENT_BY))

    assert missed([full, part]) == [f"not sent on emulator: {listed[0]}"]
    assert missed([full]) == []


def test_a_request_that_is_not_listed_is_found():
    leg = Leg("moto", {}, MEMORY, dict.fromkeys([*shapes.listed(), "PutItem new"], SENT_BY))

    assert missed([leg]) == ["not listed, sent on moto: PutItem new"]


def test_a_request_whose_cases_memory_does_not_run_is_found_unless_they_are_of_rows():
    skipped = {"tests.contract.queue.test_a.test_y[memory]": "skipped"}
    of_rows = {"tests/contract/queue/test_config_rows.py::test_z"}
    sent = {"a": SENT_BY, "b": {"tests/contract/queue/test_a.py::test_y"}, "c": of_rows}

    assert on_engines_alone(Leg("moto", {}, MEMORY | skipped, sent)) == ["b"]


def test_the_list_is_sorted_and_has_each_once():
    listed = json.loads(shapes.LISTED.read_text())

    assert listed == sorted(set(listed))
    assert len(listed) > 130


def test_a_slice_of_the_suites_agrees_on_moto_and_the_emulator(capsys):
    assert main(["--engines", "moto,emulator", "tests/contract/queue/test_sessions.py"]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in printed[1:4]] == [
        ["queue", "memory"],
        ["queue", "moto"],
        ["queue", "emulator"],
    ]


@pytest.mark.proof
def test_all_suites_agree():
    assert main([]) == 0


def test_the_page_counts_the_requests_that_dynalite_answers_otherwise():
    page = (shapes.ROOT / "docs" / "proof.md").read_text()

    assert f"answers {len(rules.KNOWN)} requests otherwise" in page


@pytest.mark.skipif(not dynalite.is_installed(), reason=f"dynalite is not installed: {dynalite.INSTALL}")
def test_dynalite_answers_what_the_rules_say_but_for_what_is_known():
    assert rules.of_dynalite() == ([], [])
