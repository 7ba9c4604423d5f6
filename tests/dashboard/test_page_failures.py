"""What the page says when something goes wrong, and what it keeps."""

from __future__ import annotations

from tests.dashboard.pages import (
    MISSING,
    at_rest,
    clocked,
    main,
    opened,
    polled,
    status,
    status_is,
    wait,
    windowed,
)


def test_an_api_that_stops_leaves_the_last_data_and_comes_back(fanin, api, dashboard, opens):
    opened(fanin, "catalog", items=10, acked=4)
    page = clocked(opens, dashboard)
    wait(page, "40.0 %")
    api.instead["/v1/batches"] = (500, {"message": "Internal Server Error"})
    polled(page, api, "/v1/batches")
    status_is(page, "not current, as of ")
    assert "The API does not answer" in main(page)
    assert "fanin local list" in main(page)
    assert "40.0 %" in main(page)
    polled(page, api, "/v1/batches", 3)
    del api.instead["/v1/batches"]
    polled(page, api, "/v1/batches")
    page.wait_for_function("() => !document.querySelector('.note')")
    assert "not current" not in page.inner_text("#status")


def test_a_dashboard_that_was_ended_is_said(fanin, api, starts, opens):
    from contextlib import suppress

    dashboard = starts()
    opened(fanin, "catalog")
    page = opens(dashboard)
    wait(page, "catalog")
    dashboard.shutdown(), dashboard.server_close()
    page.keyboard.press("r")
    wait(page, "The dashboard does not answer")
    assert "Start it again with `fanin dashboard`" in main(page)
    assert "catalog" in main(page)
    with suppress(OSError):
        dashboard.socket.close()


def test_a_batch_that_is_not_there_is_said_and_not_asked_for_again(fanin, api, dashboard, opens):
    page = clocked(opens, dashboard, f"#/batches/{MISSING}")
    wait(page, "It has expired or was deleted")
    before = at_rest(page, api)
    page.clock.run_for(60_000)
    assert at_rest(page, api) == before


def test_a_refused_filter_and_refused_credentials_are_said(fanin, api, dashboard, opens):
    page = opens(dashboard, "#/batches?label=nonsense")
    wait(page, "label")
    wait(page, "Change the filters")
    api.instead["/v1/batches"] = (403, {"message": "Forbidden"})
    page.keyboard.press("r")
    wait(page, "fanin where")


def test_a_part_that_is_not_deployed_is_said(api, dashboard, opens):
    api.instead["/v1/targets"] = (404, {"message": "Not Found"})
    page = opens(dashboard, "#/tasks")

    wait(page, "this part of fanin is not deployed there")


def test_states_of_a_newer_api_are_shown(api, dashboard, opens):
    api.instead["/v1/batches/[^/]*/map"] = windowed(10)
    known = status(state="FROZEN", result=None)
    page = opens(dashboard)
    page.route("**/v1/batches?*", lambda route: route.fulfill(json={"batches": [known], "more": {"new": 1}}))
    page.route(f"**/v1/batches/{MISSING}", lambda route: route.fulfill(json=known | {"colour": {"new": []}}))
    page.keyboard.press("r")
    wait(page, "FROZEN")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    wait(page, "Outstanding")
    assert "FROZEN" in main(page)
