"""No page of another site or port reads or writes through the dashboard."""

from __future__ import annotations

import pytest

from tests.dashboard.asking import BATCH


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_page_of_another_site_or_port_reads_nothing(browser, api, site):
    assert browser.ask("/v1/batches", Sec_Fetch_Site=site).status == 403
    assert browser.ask("/v1/batches", Origin="http://127.0.0.1:9").status == 403
    assert api.log == []


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:9"},
        {"Origin": ""},
        {"X_Fanin_Dashboard": ""},
        {"Sec_Fetch_Site": "same-site"},
    ],
)
def test_a_write_of_another_page_is_refused(writer, api, headers):
    assert writer.write(f"/v1/batches/{BATCH}/cancel", **headers).status == 403
    assert api.log == []


def test_a_write_without_origin_is_refused(writer, api):
    assert writer.ask(f"/v1/batches/{BATCH}/cancel", "POST", "{}", X_Fanin_Dashboard="1").status == 403
    assert api.log == []


def test_a_write_without_the_cookie_is_refused(writer, api):
    writer.cookie = None

    assert writer.write(f"/v1/batches/{BATCH}/cancel").status == 401
    assert api.log == []


def test_writes_are_close_cancel_and_notify_alone(writer, fanin, api):
    batch = fanin.open()
    paths = [
        "/v1/batches",
        f"/v1/batches/{batch.id}/items",
        f"/v1/batches/{batch.id}/end",
        "/v1/acks",
        "/facts",
    ]

    assert [writer.write(path).status for path in paths] == [404] * 5
    assert writer.write(f"/v1/batches/{batch.id}/cancel", '{"reason": "a test"}').status == 200
    assert fanin.status(batch.id).state == "CANCELLED"
    assert writer.write(f"/v1/batches/{batch.id}/notify", "").status == 202


def test_a_write_has_the_pages_idempotency_key(writer, fanin, api):
    batch = fanin.open()
    writer.write(f"/v1/batches/{batch.id}/cancel", Idempotency_Key="once", Cookie=writer.cookie, X_Other="1")

    ((_, _, headers),) = api.log
    assert headers["idempotency-key"] == "once"
    assert not {"cookie", "x-other", "origin", "x-fanin-dashboard"} & headers.keys()
