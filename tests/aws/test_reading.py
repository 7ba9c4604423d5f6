"""Many rows read at once, over a table that may leave some for later."""

from __future__ import annotations

import pytest

from fanin.aws.dynamodb.reading import ATTEMPTS, KEYS_A_READ, read_many
from fanin.aws.dynamodb.rows import text
from fanin.errors import StoreUnavailable


class Table:
    """Has every row but those called *gone*, and answers *most* keys of a request."""

    def __init__(self, most, gone=()):
        self.most, self.gone, self.asked = most, gone, []

    def batch_get_item(self, RequestItems):  # noqa: N803  # as the client calls it
        ((table, wanted),) = RequestItems.items()
        assert wanted["ConsistentRead"] is True
        self.asked.append(len(wanted["Keys"]))
        read, unread = wanted["Keys"][: self.most], wanted["Keys"][self.most :]
        rows = [key for key in read if key["pk"]["S"] not in self.gone]
        unprocessed = {table: wanted | {"Keys": unread}} if unread else {}
        return {"Responses": {table: rows}, "UnprocessedKeys": unprocessed}


def keys(count):
    return [{"pk": text(str(number))} for number in range(count)]


def test_many_rows_are_read_a_hundred_at_a_time():
    table = Table(most=KEYS_A_READ, gone=("7", "150"))
    found = list(read_many(table, "t", keys(250), lambda _: None))

    assert table.asked == [100, 100, 50]
    assert found == [key for key in keys(250) if key["pk"]["S"] not in table.gone]


def test_what_an_answer_leaves_out_is_asked_for_again_after_a_pause():
    table, pauses = Table(most=40), []
    found = list(read_many(table, "t", keys(100), pauses.append))

    assert (table.asked, pauses) == ([100, 60, 20], [0, 1])
    assert found == keys(100)


def test_a_table_that_answers_nothing_is_not_asked_for_ever():
    table = Table(most=0)

    with pytest.raises(StoreUnavailable):
        list(read_many(table, "t", keys(1), lambda _: None))
    assert len(table.asked) == ATTEMPTS
