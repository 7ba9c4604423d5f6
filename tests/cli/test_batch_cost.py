"""``fanin status --cost``."""

from __future__ import annotations

import json

from fanin.cost.batch import WAYS


def test_the_cost_of_a_batch_is_a_row_for_each_way_and_says_what_it_assumes(fanin):
    batch = fanin("open", "orders").ok().lines[0]
    fanin("add", "orders", "1000").ok()
    outstanding = fanin("outstanding", batch).ok().out
    fanin("ack", "-", stdin=outstanding).ok()

    shown = fanin("status", "orders", "--cost").ok()
    documents = fanin("status", "orders", "--cost", "--json").ok().documents

    assert len(shown.lines) == len(documents) == len(WAYS)
    assert shown.lines[0].split("\t")[:2] == ["tables", "1"]
    assert documents[0]["writeUnits"] == 1000 + 2 + 40
    assert "estimated from 1,000 items done, 0 of them failed" in shown.err
    assert "does not know how they were acked" in shown.err
    assert json.dumps(documents[0])
