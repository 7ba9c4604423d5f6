"""The verification example of docs/callbacks.md is run as it stands, and its tables are held to the code."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from fanin.callbacks import callbacks_of
from fanin.callbacks.http import signature
from fanin.tracker.rules.options import (
    ONCE,
    STUCK_AFTER_MAX,
    STUCK_AFTER_MIN,
    Threshold,
    mark_of,
)

SECOND = timedelta(seconds=1)
PAGE = (Path(__file__).parents[2] / "docs" / "callbacks.md").read_text()
NEW, OLD, BODY, AT = "n" * 32, "o" * 32, b'{"eventId": "b:COMPLETE"}', 1_790_000_000


@pytest.fixture(scope="module")
def is_ours() -> Any:
    (code,) = re.findall(r"<!-- verify -->\n```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102
    return names["is_ours"]


def test_the_example_accepts_what_is_signed_by_either_key_of_a_rotation(is_ours: Any) -> None:
    header = signature((NEW, OLD), AT, BODY)

    assert is_ours(header, BODY, NEW, AT)
    assert is_ours(header, BODY, OLD, AT + 299)
    assert not is_ours(header, BODY, "x" * 32, AT)


@pytest.mark.parametrize(
    ("header", "body", "now"),
    [
        (signature((NEW,), AT, BODY), BODY + b" ", AT),
        (signature((NEW,), AT, BODY), BODY, AT + 301),
        (signature((NEW,), AT, BODY), BODY, AT - 301),
        (signature((NEW,), AT, BODY).replace(f"t={AT}", f"t={AT + 1}"), BODY, AT),
        (signature((NEW,), AT, BODY).replace("v1=", "v0="), BODY, AT),
        ("", BODY, AT),
        ("t=x,v1=y", BODY, AT),
        (f"t={AT},v1=\xe9", BODY, AT),
        ("t=\xb2,v1=y", BODY, AT),
        (f"t={'9' * 5000},v1=y", BODY, AT),
    ],
)
def test_the_example_refuses_all_else(is_ours: Any, header: str, body: bytes, now: int) -> None:
    assert not is_ours(header, body, NEW, now)


def test_the_setting_of_the_page_is_valid() -> None:
    (rows,) = re.findall(r"```json\n(\[.*?\])\n```", PAGE, re.DOTALL)

    assert [each.name for each in callbacks_of(json.loads(rows))] == ["orders", "people", "shop"]


def test_the_page_names_each_threshold_and_its_event() -> None:
    for threshold in Threshold:
        assert f"`{threshold}`" in PAGE
    for threshold in ONCE:
        assert f"`<batchId>:{mark_of(threshold)}`" in PAGE
    assert f"`<batchId>:{mark_of(Threshold.STUCK, 1)}`" in PAGE
    assert f"{STUCK_AFTER_MIN // SECOND} to {STUCK_AFTER_MAX // SECOND:,}" in PAGE
