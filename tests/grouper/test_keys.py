"""No two tasks, bundles or lanes share a row, whatever their tenants are called."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fanin.errors import InvalidRequest
from fanin.grouper import BundleKey, Lane, TaskKey
from fanin.grouper.rules.ids import (
    BUNDLE_ID_FORM,
    TARGET_FORM,
    TASK_ID_FORM,
    checked_bundle_id,
    checked_target,
    checked_task_id,
)

TENANTS = st.text("a#1:", min_size=1, max_size=8)


def of_form(form):
    return st.from_regex(form, fullmatch=True)


@given(TENANTS, of_form(TASK_ID_FORM), of_form(BUNDLE_ID_FORM), of_form(TARGET_FORM), st.integers(0, 99))
def test_a_key_is_read_from_its_end_so_that_it_names_one_tenant_and_thing(
    tenant, task, bundle, target, shard
):
    assert str(TaskKey(tenant, task)).rsplit("#", 1) == [tenant, task]
    assert str(BundleKey(tenant, bundle)).rsplit("#", 1) == [tenant, bundle]
    assert str(Lane(tenant, target, str(shard))).rsplit("#", 2) == [tenant, target, str(shard)]


@pytest.mark.parametrize("checked", [checked_task_id, checked_bundle_id, checked_target])
@pytest.mark.parametrize("name", ["b#c", "#", "b#0", "", "b\n"])
def test_a_name_that_could_be_a_part_of_another_key_is_refused(checked, name):
    with pytest.raises(InvalidRequest):
        checked(name)
