"""Close, cancel and notify on the page."""

from __future__ import annotations

from tests.dashboard.pages import main, opened, wait


def test_a_read_only_dashboard_offers_no_write(fanin, api, dashboard, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "Outstanding")

    assert page.locator("main button").count() == 0


def test_cancel_needs_the_typed_key(fanin, api, starts, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(starts(allow_writes=True), f"#/batches/{batch.id}")
    wait(page, "Cancel…")
    page.get_by_text("Close…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('main .state').innerText === 'running'")
    page.get_by_text("Cancel…").focus()
    page.keyboard.press("Enter")
    page.keyboard.type("catalo")
    page.keyboard.press("Enter")
    assert page.is_disabled("#do")
    assert fanin.status(batch.id).state == "CLOSED"
    page.keyboard.type("g")
    page.keyboard.press("Tab")
    page.keyboard.type("a test")
    page.keyboard.press("Enter")
    wait(page, "cancelled")
    assert "a test" in main(page)
    page.get_by_text("Send the event again…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_selector("dialog[open]", state="hidden")
    assert [path.rpartition("/")[2] for method, path, _ in api.log if method == "POST"] == [
        "close",
        "cancel",
        "notify",
    ]


def test_a_refused_write_is_said_in_its_dialog(fanin, api, starts, opens):
    batch = opened(fanin, "catalog", close=False)
    page = opens(starts(allow_writes=True), f"#/batches/{batch.id}")
    wait(page, "Close…")
    batch.add(1)
    api.instead[".*/close"] = (403, {"message": "Forbidden"})
    page.get_by_text("Close…").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    page.wait_for_function(
        "() => document.getElementById('refused').innerText.includes('refuses your credentials')"
    )
