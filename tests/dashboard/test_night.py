"""What the page says at night: what is wrong, with numbers, and the commands that help."""

from __future__ import annotations

import re
import shlex
from datetime import timedelta
from itertools import islice
from pathlib import Path

import typer

from fanin import dashboard as package
from fanin.cli.app import app as cli
from tests.dashboard import documents
from tests.dashboard.asking import Browser
from tests.dashboard.pages import BILLION, MISSING, clocked, main, opened, picture, polled, status, wait

NARROW = {"width": 360, "height": 640}
SLOW, LOST = "timeout after 30 s", "no such product"


def failing(fanin, slow=9, lost=2, before=0, **options):
    """A live batch of 5,000 items, of which the first ones have failed, but for so many *before* them."""
    batch = fanin.open("catalog-7", **options)
    if before:
        batch.add(before)
    items = list(islice(batch.add(5000), slow + lost))
    batch.close()
    for at, item in enumerate(items):
        fanin.fail([item], SLOW if at < slow else LOST)
    return batch


def rows(page, label):
    return [row.split("\t") for row in page.locator(f"table[aria-label={label}] tbody tr").all_inner_texts()]


def test_failures_are_counted_by_reason_and_each_message_has_its_place(fanin, dashboard, opens):
    batch = failing(fanin)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "11 failed. Each has its reason")

    assert [row[:2] for row in rows(page, "Reasons")] == [["9 \u00d7", SLOW], ["2 \u00d7", LOST]]
    page.click("table[aria-label=Reasons] summary")
    page.click("table[aria-label=Reasons] .ids a")
    wait(page, "Failures of items")
    assert [row[:2] for row in rows(page, "Reasons")] == [["1 \u00d7", SLOW]]


def test_the_failures_of_a_window_are_those_in_it(fanin, dashboard, opens):
    batch = failing(fanin, before=300)
    page = opens(dashboard, f"#/batches/{batch.id}?from=308&to=316")
    wait(page, "Failures of items 308 to 315")
    assert [row[:2] for row in rows(page, "Reasons")] == [["2 \u00d7", LOST], ["1 \u00d7", SLOW]]
    page.evaluate("location.hash = location.hash.replace('from=308&to=316', 'from=8&to=16')")
    wait(page, "Failures of items 8 to 15")
    assert "0 failed" in main(page)


def test_reasons_of_a_part_of_the_failures_are_counted_as_that(fanin, dashboard, opens):
    batch = fanin.open()
    fanin.fail_ranges([batch.add(500)], SLOW)
    page = opens(dashboard, f"#/batches/{batch.id}")
    wait(page, "500 failed. Reasons are kept of")

    assert page.locator("th", has_text="Items, at least").count() == 1


def test_conditions_are_counted_and_list_their_batches(fanin, dashboard, opens):
    failing(fanin)
    opened(fanin, "quiet")
    opened(fanin, "done", acked=10)
    opened(fanin, "partly", acked=8, failed=2)
    opened(fanin, "stopped").cancel()
    page = opens(dashboard)
    page.wait_for_function("() => document.querySelector('.chips')?.innerText.includes('Ended badly 2')")
    assert page.inner_text(".chips").split("\n") == ["All", "Live 2", "Problems 1", "Ended badly 2"]
    for condition, names in {
        "Live": {"quiet", "catalog-7"},
        "Problems": {"catalog-7"},
        "Ended": {"partly", "stopped"},
    }.items():
        page.click(f".chips a:has-text('{condition}')")
        page.wait_for_function("n => document.querySelectorAll('tbody tr').length === n", arg=len(names))
        assert {each.split()[0] for each in page.locator("tbody td.name").all_inner_texts()} == names


def test_a_running_batch_says_so_and_when_its_last_ack_came(fanin, api, dashboard, opens):
    batch = failing(fanin, slow=1, lost=0)
    page = clocked(opens, dashboard, f"#/batches/{batch.id}")
    wait(page, "running")
    assert "CLOSED" not in main(page)
    polled(page, api, f"/v1/batches/{batch.id}", 2)
    wait(page, "as seen here")
    fanin.ack([next(iter(batch.outstanding()))[0]])
    polled(page, api, f"/v1/batches/{batch.id}", 2)

    page.wait_for_selector("dt:text-is('Last ack') + dd time")


def test_a_recorded_ack_and_a_stall_are_shown_and_a_child_and_its_parent_lead_to_each_other(
    fanin, api, dashboard, opens
):
    parent = fanin.open("night")
    first, second, third = parent.add(3)
    parent.close()
    with fanin.open("all done", parent=third) as child:
        fanin.ack(child.add(1))
        fanin.open("given up", parent=third, parent_fails_on="never").cancel()
    for name, item in (("at work", first), ("hangs", second)):
        child = fanin.open(name, parent=item, stuck_after=timedelta(minutes=5))
        child.add(3 if name == "hangs" else 2)
        child.close()
    fanin.clock.advance(minutes=7)
    page = opens(dashboard, f"#/batches/{parent.id}")
    wait(page, "Stalled: at work, hangs")
    assert [row[0] for row in rows(page, "Children")] == ["given up", "hangs", "at work", "all done"]
    page.click("text=hangs")
    wait(page, "stalled: none for 5 min")
    page.click("text=night")
    wait(page, "Children")


def test_children_at_work_are_shown_where_the_done_ones_cannot_be_read(fanin, api, dashboard, opens):
    parent = fanin.open("night")
    first, second = parent.add(2)
    with fanin.open("all done", parent=first) as child:
        fanin.ack(child.add(1))
    page = clocked(opens, dashboard, f"#/batches/{parent.id}")
    wait(page, "all done")
    fanin.open("at work", parent=second)
    for code, says in ((404, False), (429, True)):
        api.instead[".*/children.done=true.*"] = (code, {"message": "refused"})
        polled(page, api, f"/v1/batches/{parent.id}/children", 3)
        wait(page, "at work")

        assert [row[0] for row in rows(page, "Children")] == ["at work", "all done"]
        assert ("The done ones could not be read" in main(page)) is says


COMMANDS = typer.main.get_command(cli)


def valid(text):
    """Parse a command as `fanin` does; a wrong verb, argument or option raises."""
    program, *arguments = shlex.split(text)
    assert program == "fanin"
    with COMMANDS.make_context("fanin", ["--help"], resilient_parsing=True) as context:
        name, command, arguments_left = COMMANDS.resolve_command(context, arguments)
        while hasattr(command, "resolve_command"):
            name, command, arguments_left = command.resolve_command(context, arguments_left)
        command.make_context(name, arguments_left)


def test_every_command_in_the_scripts_of_the_page_is_one_of_the_command_line():
    scripts = [path.read_text() for path in (Path(package.__file__).parent / "page").rglob("*.js")]
    offered = [text for each in scripts for _, text in re.findall(r"""(["'`])(fanin\W.+?)\1""", each)]

    assert len(offered) > 15
    for each in offered:
        valid(re.sub(r"\$\{.*?\}", MISSING, each))


def test_a_batch_with_failures_says_its_numbers_and_next_steps_that_the_command_line_has(
    fanin, dashboard, opens
):
    live, cancelled, failed = failing(fanin), failing(fanin), failing(fanin, max_failures=11)
    cancelled.cancel()
    page = opens(dashboard)
    for batch in (live, cancelled, failed):
        page.goto(f"{page.url.partition('#')[0]}#/batches/{batch.id}")
        page.wait_for_function("id => document.title.includes(id)", arg=batch.id)
        wait(page, "Next steps")
        commands = [text.replace("\n", " ") for text in page.locator(".command").all_inner_texts()]

        assert all(batch.id in each for each in commands)
        assert any("redrive" in each and "--dry-run" in each for each in commands)
        assert any("redrive" in each if batch is live else "reopen" in each for each in commands)
        assert batch is live or "0 succeeded, 11 failed, 4,989 are outstanding" in main(page)
        for each in commands:
            valid(each)


def test_failed_tasks_are_seen_first_and_by_default(api, dashboard, opens):
    documents.put(api)
    page = opens(dashboard, "#/tasks")
    page.wait_for_selector("td.n a.bad")
    page.click("td.n a.bad")
    wait(page, "no such order")

    assert [row[:2] for row in rows(page, "Tasks")] == [["order-2", "DEAD"], ["order-1", "BUNDLED"]]


def test_an_estimate_of_a_billion_items_is_shown_as_its_bounds(api, dashboard, opens):
    progress = {"acked": 399_360, "failed": 0, "estimate": 947_000, "upperBound": 998_000_000, "exact": False}
    api.instead[f"/v1/batches/{MISSING}"] = (200, status(total=BILLION, progress=progress))
    api.instead[".*/map"] = (200, picture(BILLION, lambda cell, size: 925))
    page = opens(dashboard, f"#/batches/{MISSING}")
    wait(page, "399,360 surely, 998,000,000 at most")

    assert "999,600,640 at most" in main(page)
    assert not any(each in main(page) for each in ("947,000", "999,053,000"))


def test_cells_can_be_tapped_names_stay_whole_and_queues_fold_at_360_pixels(fanin, api, dashboard, opens):
    documents.put(api)
    batch = failing(fanin)
    page = opens(dashboard, f"#/batches/{batch.id}", viewport=NARROW)
    wait(page, "running")
    cells = next(int(query["cells"]) for _, path, query in api.queries if path.endswith("/map"))
    box = page.locator("canvas").bounding_box()
    assert box["width"] * box["height"] / min(cells, 5000 // 64 + 1) >= 24**2
    page.locator("canvas").click(position={"x": 5, "y": 5})
    wait(page, "A cell is one item")
    page.goto(page.url.partition("#")[0] + "#/queues")
    wait(page, "thumbs")
    assert page.locator("tbody tr").first.bounding_box()["height"] < 150
    lines = "[...document.querySelectorAll('main time, .state')].map((each) => each.getClientRects().length)"
    assert set(page.evaluate(lines)) == {1}


WHOLE = "ThumbnailsOfTheNightlyCatalog"
CUT = """[...document.querySelectorAll("td.name, td.reason")].flatMap((cell) => {
  const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), cut = [];
  while (walker.nextNode())
    for (const found of walker.currentNode.data.matchAll(/\\w+/g)) {
      const range = document.createRange();
      range.setStart(walker.currentNode, found.index);
      range.setEnd(walker.currentNode, found.index + found[0].length);
      if (new Set([...range.getClientRects()].map(({ top }) => top)).size > 1) cut.push(found[0]);
    }
  return cut;
})"""


def test_words_of_keys_and_reasons_stay_whole_and_no_view_is_wider_than_the_screen(fanin, dashboard, opens):
    endless = "k" * 200
    opened(fanin, endless, items=100_000, acked=3000, failed=2000)
    batch = opened(fanin, f"{WHOLE} {WHOLE}", items=2, close=False)
    fanin.fail([next(iter(batch.outstanding()))[0]], f"{WHOLE}IsMissing of the camera, and {endless}")
    page = opens(dashboard, viewport=NARROW)
    for hash_, shown in (("", endless), (f"#/batches/{batch.id}", "IsMissing")):
        page.goto(page.url.partition("#")[0] + hash_)
        wait(page, shown)
        for width in (360, 1000, 1280):
            page.set_viewport_size({"width": width, "height": 640})
            assert set(page.evaluate(CUT)) <= {endless}, width
            assert page.evaluate("document.scrollingElement.scrollWidth") <= width


def test_the_address_without_the_token_leads_to_a_page_that_says_how_to_sign_in(dashboard):
    browser = Browser(dashboard.address)
    for path in ("/", "/?t=used"):
        answer = browser.ask(path, Accept="text/html,*/*")
        assert (answer.status, answer.headers["Content-Type"]) == (401, "text/html; charset=utf-8")
        assert "<code>fanin dashboard</code>" in answer.text
