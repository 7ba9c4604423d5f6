"""A package that is not looked up is not sound; an advisory is matched by OSV's rules."""

from __future__ import annotations

import pytest

from tests.audit.packages import compared

LOCKED = {"urllib3": "2.0.6", "a-b": "1.0"}


def advisory(**affected):
    return {"id": "PYSEC-1", "affected": [{"package": {"name": "urllib3"}, **affected}]}


def within(*events):
    return advisory(ranges=[{"type": "ECOSYSTEM", "events": list(events)}])


@pytest.mark.parametrize(
    ("document", "hit"),
    [
        (advisory(versions=["2.0.6"]), True),
        (advisory(versions=["2.0.7"]), False),
        (within({"introduced": "0"}, {"fixed": "2.0.6"}), False),
        (within({"introduced": "0"}, {"fixed": "2.0.7"}), True),
        (within({"introduced": "2.0.7"}), False),
        (within({"introduced": "0"}, {"last_affected": "2.0.6"}), True),
        (within({"introduced": "0"}, {"last_affected": "2.0.5"}), False),
        (within({"introduced": "2.0.0"}, {"fixed": "2.0.7"}, {"introduced": "0"}, {"fixed": "1.26"}), True),
        (within({"introduced": "0"}, {"fixed": "not a version"}), True),
        ({**advisory(versions=["2.0.6"]), "withdrawn": "2024-01-01"}, False),
        (advisory(ranges=[{"type": "GIT", "events": [{"introduced": "0"}]}]), False),
    ],
)
def test_a_version_is_affected_if_it_is_listed_or_in_a_range(document, hit):
    assert bool(compared(LOCKED, [document]).vulnerable) is hit
