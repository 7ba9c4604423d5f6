"""No two queues share a row, whatever their tenants are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.queue.dynamodb import items
from fanin.queue.rules.config import QueueConfig
from fanin.queue.rules.keys import PARTS_MAX, QUEUE_FORM, PartKey, QueueKey

TENANTS = st.text("a#1:", min_size=1, max_size=8)
NAMES = st.from_regex(QUEUE_FORM, fullmatch=True)


@given(TENANTS, NAMES, st.integers(0, PARTS_MAX - 1))
def test_a_key_is_read_from_its_end_so_that_it_names_one_tenant_queue_and_part(tenant, name, number):
    key = str(PartKey(QueueKey(tenant, name), number))

    assert key.rsplit("#", 2) == [tenant, name, f"{number:04x}"]
    assert items.queue_of(items.config_item(QueueKey(tenant, name), QueueConfig(1))) == QueueKey(tenant, name)


@pytest.mark.parametrize("name", ["b#c", "#", "b#0001", "", "b\n", "-b", "b" * 81])
def test_a_queue_whose_name_could_be_a_part_of_another_key_is_refused(name):
    with pytest.raises(InvalidRequest, match="A-Z"):
        QueueKey("a", name)


def test_rows_of_different_kinds_lie_in_different_partitions():
    queue, tenant = QueueKey("t", "q"), QueueKey("t#q", "0001")
    kinds = (items.session_pk, lambda of: items.config_row(of)["pk"])
    partitions = [kind(of)["S"] for kind in kinds for of in (queue, tenant)]
    for kind in (items.part_pk, items.dead_pk, items.outbox_pk):
        partitions += [kind(PartKey(of, 1))["S"] for of in (queue, tenant)]

    assert len(set(partitions)) == 10


@given(TENANTS, NAMES, st.integers(0, PARTS_MAX - 1))
def test_the_part_of_the_dead_is_read_from_their_key(tenant, name, number):
    part = PartKey(QueueKey(tenant, name), number)

    for beside in (items.dead_pk, items.outbox_pk):
        assert items.part_beside(beside(part)["S"]) == part
