"""Each row of the table of bad inputs has requests in ``bad_inputs``, or a test of its own."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.api.bad_inputs import ALL

ROOT = Path(__file__).resolve().parents[2]
LAST, NONE = 68, {30, 38, 39, 44, 56, 60, 61}
"""The last row, and the numbers that the table leaves out."""
ELSEWHERE = {
    1: "tests/infra/test_api.py::test_every_route_asks_for_an_iam_signature",
    2: "tests/infra/test_api.py::test_every_route_asks_for_an_iam_signature",
    12: "tests/api/test_bad_inputs.py::test_garbage_in_base64_is_refused",
    19: "tests/fuzz/test_fuzz.py::test_broken_requests_are_refused_or_served_and_show_nothing_of_the_inside",
    24: "tests/api/test_routes.py::test_a_repeated_open_is_answered_the_same_even_after_close",
    25: "tests/api/test_routes.py::test_the_key_of_an_open_with_another_payload_is_refused",
    33: "tests/tracker/test_service.py::test_an_expired_batch_is_gone_for_everybody",
    34: "tests/api/test_quotas.py::test_adds_over_the_quota_are_refused_and_reserve_nothing",
    43: "tests/api/test_routes.py::test_a_repeated_close_is_answered_the_same",
    45: "tests/api/test_routes.py::test_close_of_an_empty_batch_completes_it",
    49: "tests/api/test_routes.py::test_ack_answers_a_verdict_for_each_item_in_order",
    54: "tests/fuzz/test_tenants.py::test_no_tenant_reads_or_changes_what_another_tenant_has",
    57: "tests/tracker/test_folded.py::test_acked_again_all_is_duplicate_and_nothing_is_written",
    58: "tests/tracker/test_service.py::test_an_expired_batch_is_gone_for_everybody",
    59: "tests/http/test_tracking.py::test_t5_all_acked_while_open_tells_close_alone",
    63: "tests/api/test_routes.py::test_headers_of_others_have_no_effect",
    64: "tests/api/test_quotas.py::test_another_tenant_is_unaffected",
    65: "tests/http/test_tracking.py::test_t10_t11_races_tell_exactly_once",
    66: "tests/api/test_problems.py::test_a_store_out_of_reach_asks_to_come_again",
    67: "tests/fuzz/test_fuzz.py::test_of_a_delivery_only_the_broken_records_fail",
    68: "tests/api/test_events.py::test_a_forged_event_confirms_nothing",
}
"""The test of a row that is no single request with a refusal."""


def test_every_row_has_its_requests_or_its_test() -> None:
    in_table = {bad.row for bad in ALL}

    assert in_table | set(ELSEWHERE) == set(range(1, LAST + 1)) - NONE
    assert not in_table & set(ELSEWHERE)


@pytest.mark.parametrize("row", ELSEWHERE)
def test_the_test_of_a_row_exists(row: int) -> None:
    path, _, name = ELSEWHERE[row].partition("::")
    tree = ast.walk(ast.parse((ROOT / path).read_text()))

    assert name in {each.name for each in tree if isinstance(each, ast.FunctionDef)}
