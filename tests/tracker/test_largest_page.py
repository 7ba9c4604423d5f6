"""The largest page: what reads the bits of a row counts on its size."""

from __future__ import annotations

from fanin.tracker import BatchKey, Tracker
from fanin.tracker.dynamodb import requests
from fanin.tracker.memory import MemoryStore
from fanin.tracker.rules.model import PageKey
from fanin.tracker.rules.page import PAGE_BITS_MAX, mask_of


def test_a_new_batch_has_pages_of_the_largest_size_which_are_compacted_when_they_are_full():
    key, bits = PageKey(BatchKey("t", "b"), 0, 0), Tracker(MemoryStore()).page_bits
    request = requests.compact("pages", key, PAGE_BITS_MAX)
    digits = request["UpdateExpression"].partition(" REMOVE ")[2].split(", ")

    assert request["ExpressionAttributeValues"][":count"] == {"N": str(bits)}
    assert digits == [f"d{digit}" for digit in range(171)]
    assert mask_of(0, PAGE_BITS_MAX - 1).bit_length() == bits
