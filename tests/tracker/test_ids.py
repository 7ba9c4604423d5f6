"""Ids: made and parsed side by side, and never believed without their tag."""

from __future__ import annotations

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.tracker import COUNT_MAX, TOTAL_MAX, GroupId, ItemId, checked_batch_id
from fanin.tracker.dynamodb.items import key_of
from fanin.tracker.rules.model import BatchKey, PageKey

SALT = b"0123456789abcdef"
BATCH = "00000000-0000-4000-8000-000000000001"
OTHER = "00000000-0000-4000-8000-000000000002"
GROUP = str(GroupId.make(SALT, BATCH, 0, 10))

starts = st.integers(0, TOTAL_MAX - 1)
counts = st.integers(1, COUNT_MAX)


@given(starts, counts)
def test_a_group_id_is_a_canonical_uuid_of_version_8_that_carries_its_stretch(start, upto):
    group = GroupId.make(SALT, BATCH, start, upto)
    text = str(group)

    assert (str(UUID(text)), UUID(text).version) == (text, 8)
    assert GroupId.decode(text) == group
    assert (group.start, group.upto) == (start, upto)


@given(starts, counts, st.integers(0, 121))
def test_a_group_id_with_any_bit_changed_is_not_of_its_batch(start, upto, bit):
    value = UUID(str(GroupId.make(SALT, BATCH, start, upto))).int
    free = [at for at in range(128) if at not in {62, 63, 76, 77, 78, 79}]
    forged = GroupId.decode(str(UUID(int=value ^ 1 << free[bit])))

    assert not forged.is_of(SALT, BATCH)


@given(starts, counts)
def test_a_group_id_is_of_its_own_batch_and_salt_alone(start, upto):
    group = GroupId.make(SALT, BATCH, start, upto)

    assert group.is_of(SALT, BATCH)
    assert not group.is_of(SALT, OTHER)
    assert not group.is_of(b"another salt....", BATCH)


OTHER_UUIDS = [f"{GROUP[:14]}{version:x}{GROUP[15:]}" for version in range(16) if version != 8]


@pytest.mark.parametrize("text", [*OTHER_UUIDS, "00000000-0000-8000-c000-000000000000"])
def test_a_uuid_of_another_version_or_variant_is_no_group(text):
    assert GroupId.decode(text) is None


@given(st.integers(0, 10**19 - 1))
def test_an_item_id_comes_back_as_it_was_written(index):
    item = ItemId(BATCH, GROUP, index)

    assert ItemId.parse(str(item)) == item


INDEXES = ["-1", "-0", "+5", "05", "1e1", "0x1", " 5", "5 ", "²", "٣", "", "1" * 20, "5\n", "0:evil"]


@pytest.mark.parametrize(
    "text",
    [
        *(f"{BATCH}:{GROUP}:{index}" for index in INDEXES),
        "",
        ":::",
        BATCH,
        f"{BATCH}:{GROUP}",
        f"{BATCH}:{GROUP.upper()}:0",
        f"urn:uuid:{BATCH}",
        f"{{{BATCH}}}:{GROUP}:1",
    ],
)
def test_other_texts_are_no_item_ids(text):
    with pytest.raises(InvalidRequest):
        ItemId.parse(text)


@pytest.mark.parametrize(
    "text", ["", "../x", BATCH.replace("-", ""), f"urn:uuid:{BATCH}", BATCH + "\n", "a#b"]
)
def test_other_texts_are_no_batch_ids(text):
    with pytest.raises(InvalidRequest):
        checked_batch_id(text)


@given(st.text("a#1:", min_size=1, max_size=8), st.uuids(), st.integers(0, 9), st.integers(0, 2**40))
def test_a_key_is_read_from_its_end_so_that_it_names_one_tenant_batch_and_page(tenant, batch, level, page):
    key = BatchKey(tenant, checked_batch_id(str(batch)))

    assert key_of(str(key)) == key
    assert str(PageKey(key, level, page)).rsplit("#", 3) == [tenant, str(batch), str(level), str(page)]
