"""The comparison of engines, and a slice of it on the emulator."""

from __future__ import annotations

import pytest

from tests.contract import dynalite
from tests.request_rules import shapes
from tests.witness import rules
from tests.witness.__main__ import main, missed
from tests.witness.legs import Leg, read, rows

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
        ["memory", "1", "1", "0", "0", "", "0"],
        ["moto", "3", "2", "1", "0", "1", "0"],
        ["emulator", "3", "1", "1", "1", "2", "1"],
    ]
    assert other.failed == ["tests.contract.queue.test_a.test_y[dynamodb-2]"]


MEMORY = {"tests.contract.queue.test_a.test_x[memory]": "passed"}
SENT_BY = {"tests/contract/queue/test_a.py::test_x"}


def test_a_request_that_is_not_listed_is_found():
    leg = Leg("moto", {}, MEMORY, dict.fromkeys([*shapes.listed(), "PutItem new"], SENT_BY))

    assert missed([leg]) == ["not listed, sent on moto: PutItem new"]


@pytest.mark.proof
def test_a_slice_of_the_suites_agrees_on_moto_and_the_emulator(capsys):
    assert main(["--engines", "moto,emulator", "tests/contract/queue/test_sessions.py"]) == 0

    printed = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in printed[1:4]] == ["memory", "moto", "emulator"]


@pytest.mark.proof
def test_all_suites_agree():
    assert main([]) == 0


def test_the_page_counts_the_requests_that_dynalite_answers_otherwise():
    page = (shapes.ROOT / "docs" / "proof.md").read_text()

    assert f"answers {len(rules.KNOWN)} requests otherwise" in page


@pytest.mark.skipif(not dynalite.is_installed(), reason=f"dynalite is not installed: {dynalite.INSTALL}")
def test_dynalite_answers_what_the_rules_say_but_for_what_is_known():
    assert rules.of_dynalite() == ([], [])
