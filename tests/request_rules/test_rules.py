"""Each rule: a request at its limit and below it passes, and one beyond it is refused."""

from __future__ import annotations

import pytest

from fanin.local.request_rules import Refused, Tables, check
from tests.request_rules.limits import LIMITS
from tests.request_rules.requests import TABLE, get, tables
from tests.request_rules.wrong import PASSES, REFUSED


@pytest.mark.parametrize("what", LIMITS)
def test_a_request_at_its_limit_and_below_it_passes_and_one_beyond_it_is_refused(what):
    limit = LIMITS[what]
    for count in (limit.most - limit.step, limit.most):
        check(limit.operation, limit.request(count), tables())

    with pytest.raises(Refused) as found:
        check(limit.operation, limit.request(limit.most + limit.step), tables())
    assert found.value.page == limit.page


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_request_is_refused(what):
    operation, refused, reason = REFUSED[what]

    with pytest.raises(Refused, match=reason) as found:
        check(operation, refused, tables())
    assert found.value.page, "a rule names the page that has it"


@pytest.mark.parametrize("what", PASSES)
def test_a_right_request_passes(what):
    operation, passes = PASSES[what]

    check(operation, passes, tables())


class Rows(Tables):
    """Tables whose rows all have as many bytes."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.learn(TABLE)
        self.size = size

    def stored(self, _name, _key, /):
        return {"x": {"S": "x" * (self.size - 1)}}


@pytest.mark.parametrize(("last_bytes", "passes"), [(-1, True), (0, True), (1, False)])
def test_the_rows_that_a_transaction_reads_have_4_mb_together(last_bytes, passes):
    reads = {"TransactItems": [{"Get": get(sk=str(each))} for each in range(16)]}
    rows = Rows(4 * 1024 * 1024 // 16 + last_bytes)

    if passes:
        check("TransactGetItems", reads, rows)
    else:
        with pytest.raises(Refused, match="4,194,320, and at most 4,194,304"):
            check("TransactGetItems", reads, rows)
