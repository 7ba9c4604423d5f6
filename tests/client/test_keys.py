"""Idempotency keys as a user passes them, over each transport."""

from __future__ import annotations

from enum import StrEnum

import pytest

from fanin import KeyReused, Verdict


def test_an_open_with_other_options_under_its_key_is_refused(fanin):
    fanin.open(key="k", max_failures=1)

    with pytest.raises(KeyReused):
        fanin.open(key="k", max_failures=2)


class Catalog(StrEnum):
    SUMMER = "summer"


def test_a_member_of_an_enumeration_is_the_text_that_it_is_sent_as(fanin):
    batch = fanin.open(Catalog.SUMMER, key="k", labels={Catalog.SUMMER: Catalog.SUMMER})

    assert fanin.open("summer", key="k", labels={"summer": "summer"}).id == batch.id
    assert type(batch.status().user_key) is str


@pytest.mark.parametrize("call", ["cancel", "close", "notify"])
def test_a_key_serves_one_batch(fanin, call):
    one, other = fanin.open(), fanin.open()
    if call == "notify":
        one.cancel()
        other.cancel()
    getattr(fanin, call)(one.id, key="k")
    getattr(fanin, call)(one.id, key="k")

    with pytest.raises(KeyReused):
        getattr(fanin, call)(other.id, key="k")


@pytest.mark.parametrize("call", ["ack", "fail"])
def test_a_key_of_acks_serves_one_payload_in_any_order(fanin, call):
    items = fanin.open().add(3)
    first = getattr(fanin, call)(list(items[:2]), key="k")
    again = getattr(fanin, call)(reversed(items[:2]), key="k")

    assert [one.verdict for one in first.results] == [Verdict.ACCEPTED] * 2
    assert [one.verdict for one in again.results] == [Verdict.DUPLICATE] * 2
    with pytest.raises(KeyReused):
        getattr(fanin, call)(items, key="k")
    assert list(fanin.left(items)) == [items[2:]]
