"""The examples of docs/results.md, as they stand there; the recipe over a table of moto."""

from __future__ import annotations

import re
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from fanin.testing import FakeFanin, deliver

PAGE = (Path(__file__).parents[2] / "docs" / "results.md").read_text()
EXAMPLES = dict(re.findall(r"<!-- (\w+) -->\n```python\n(.*?)```", PAGE, re.DOTALL))


@pytest.fixture
def names(monkeypatch):
    """What the examples of the page define, one after the other."""
    for name, value in (("DEFAULT_REGION", "us-east-1"), ("ACCESS_KEY_ID", "t"), ("SECRET_ACCESS_KEY", "t")):
        monkeypatch.setenv(f"AWS_{name}", value)
    with mock_aws():
        boto3.client("dynamodb").create_table(
            TableName="results",
            AttributeDefinitions=[{"AttributeName": "itemId", "AttributeType": "S"}],
            KeySchema=[{"AttributeName": "itemId", "KeyType": "HASH"}],
            BillingMode="PAY_PER_REQUEST",
        )
        names = {"work_on": size_of}
        for code in EXAMPLES.values():
            exec(code, names)  # noqa: S102
        yield names


def size_of(item_id: str) -> int:
    """The result of an item: 1 for the first, 2 for the second; the third fails."""
    index = int(item_id.rsplit(":", 1)[1])
    if index == 2:
        raise ValueError("no picture")
    return index + 1


@pytest.mark.parametrize(
    ("publish", "handler", "combine"),
    [
        ("start", "resize", "add_up"),
        ("publish", "handler", "combine"),
    ],
)
def test_once_the_batch_is_complete_the_results_of_all_that_succeeded_are_there(
    names, publish, handler, combine
):
    fake = FakeFanin()
    with fake.in_place_of(names["fanin"]):
        items = names[publish]("catalog-7", 5)
        dead = deliver(names[handler], items, raises=False).dead
        deliver(names["fanin"].dead_letter_handler(), dead)
        deliver(names[handler], items, raises=False)  # each message once more
        (event,) = fake.events

        assert (event["result"], event["failed"]) == ("completed_with_failures", 1)
        assert names[combine]({"detail": event}, None) == 1 + 2 + 4 + 5


def test_every_python_block_of_the_page_is_run():
    assert PAGE.count("```python") == len(EXAMPLES)
