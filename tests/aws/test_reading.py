"""Many rows read at once, over a table that may leave some for later."""

from __future__ import annotations

import pytest
from botocore.exceptions import ClientError

from fanin.aws.dynamodb.reading import ATTEMPTS, BUSY, KEYS_A_READ, STORED, insert_many, read_many
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


class Statements:
    """Answers each statement by its turns in *codes*, and applies it where there is none."""

    def __init__(self, **codes):
        self.codes, self.asked = {name: list(turns) for name, turns in codes.items()}, []

    def batch_execute_statement(self, Statements):  # noqa: N803  # as the client calls it
        self.asked.append(names := [each["Statement"] for each in Statements])
        turns = [self.codes.get(name) for name in names]
        return {"Responses": [{"Error": {"Code": each.pop(0)}} if each else {} for each in turns]}


@pytest.mark.parametrize("busy", sorted(BUSY))
def test_a_statement_is_run_again_where_the_table_is_busy_and_only_there(busy):
    table, pauses = Statements(b=[busy, STORED], c=[busy, busy], d=[STORED]), []
    inserted = insert_many(table, [{"Statement": name} for name in "abcd"], pauses.append)

    assert (list(inserted), pauses) == ([True, False, True, False], [0, 1])
    assert table.asked == [list("abcd"), list("bc"), ["c"]]


@pytest.mark.parametrize(
    ("code", "error"), [("ThrottlingError", StoreUnavailable), ("AccessDenied", ClientError)]
)
def test_a_statement_that_is_refused_for_ever_or_wrong_is_an_error(code, error):
    table = Statements(a=[code] * ATTEMPTS)

    with pytest.raises(error):
        insert_many(table, [{"Statement": "a"}], lambda _: None)


def test_a_table_that_answers_nothing_is_not_asked_for_ever():
    table = Table(most=0)

    with pytest.raises(StoreUnavailable):
        list(read_many(table, "t", keys(1), lambda _: None))
    assert len(table.asked) == ATTEMPTS
