"""Results are kept by name, and a page is written from the last one of its name."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from lab.pages import page, results
from lab.pages.page import rendered, write
from lab.pages.plots import digest, drawn
from lab.pages.results import Plot, Table, Target, keep, kept, names

MISSED = Target("tens in random order", "0.10", "0.80", is_met=False, reason="they share no page")
PAGE = """# Ways

One takes <!-- figure: single -->?<!-- end --> requests, one takes <!-- figure: single --><!-- end -->.

<!-- table: ways -->
<!-- end -->

as it was

<!-- plot: dollars -->
old
<!-- end -->

<!-- targets -->
<!-- end -->

<!-- run -->
<!-- end -->
"""


@pytest.fixture
def result(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    return keep(
        "ways",
        "make ways",
        {"ways": Table(("way", "requests"), (("singly", "1.00"), ("in | tens", "0.10")))},
        {"dollars": Plot("Dollars", "$", bars={"singly": 0.75, "in tens": 0.08}, log="x")},
        {"single": "1.00"},
        [Target("singly", "1.00", "1.00", is_met=True), MISSED],
        ["boto3"],
    )


def test_a_result_is_read_as_it_was_kept(result):
    found = kept("ways")

    assert found.tables["ways"].rows == [["singly", "1.00"], ["in | tens", "0.10"]]
    assert found.targets[1] == MISSED
    assert found.versions.keys() == {"Python", "boto3"}
    assert re.fullmatch(r"\d+ cores, \d+ GiB", found.machine)
    assert (names(), kept("others")) == (["ways"], None)


def test_a_crooked_row_and_a_missed_target_without_a_reason_are_refused():
    with pytest.raises(ValueError, match="2 columns"):
        Table(("a", "b"), (("1",),))
    with pytest.raises(ValueError, match="no reason"):
        replace(MISSED, reason="")


def test_a_page_gets_tables_figures_plots_targets_and_what_ran(result):
    written = rendered(PAGE, result)

    assert "| way | requests |\n|---|---|\n| singly | 1.00 |\n| in \\| tens | 0.10 |\n" in written
    assert written.count("<!-- figure: single -->1.00<!-- end -->") == 2
    assert "![Dollars](ways-dollars.svg)" in written
    assert "1 of 2 targets are met.\n\n| not met |" in written
    assert "| tens in random order | 0.10 | 0.80 | they share no page |" in written
    assert f"`make ways`, {result.date}" in written
    assert "as it was" in written
    assert rendered(written, result) == written


@pytest.mark.parametrize(
    ("wanted", "shown"),
    [
        ("", [["way", "requests", "$"], ["singly", "1.00", "0.75"], ["in tens", "0.10", "0.08"]]),
        ("; without: requests", [["way", "$"], ["singly", "0.75"], ["in tens", "0.08"]]),
        ("; rows: in tens", [["way", "requests", "$"], ["in tens", "0.10", "0.08"]]),
        ("; without: requests; $; rows: singly; in tens", [["way"], ["singly"], ["in tens"]]),
    ],
)
def test_a_page_chooses_the_columns_and_rows_of_a_table(wanted, shown):
    found = Table(("way", "requests", "$"), (("singly", "1.00", "0.75"), ("in tens", "0.10", "0.08")))

    chosen = page.selected(found, wanted)

    assert [chosen.columns, *chosen.rows] == shown


@pytest.mark.parametrize("wanted", ["; without: units", "; rows: singly; none"])
def test_a_column_or_row_that_the_table_lacks_is_refused(wanted):
    with pytest.raises(ValueError, match=r"units|none"):
        page.selected(Table(("way",), (("singly",),)), wanted)


def test_a_table_without_a_place_is_left_out_and_an_unknown_one_is_refused(result):
    without = PAGE.replace("<!-- table: ways -->\n<!-- end -->", "")

    assert "singly | 1.00 |\n" not in rendered(without, result)
    with pytest.raises(KeyError, match="others"):
        rendered(PAGE.replace("table: ways", "table: others"), result)


@pytest.mark.parametrize("gone", ["<!-- plot: dollars -->", "<!-- run -->"])
def test_a_page_without_a_place_is_refused(result, gone):
    with pytest.raises(ValueError, match="0 places"):
        rendered(PAGE.replace(gone, ""), result)


def test_a_figure_that_the_result_lacks_is_refused(result):
    with pytest.raises(KeyError, match="double"):
        rendered(PAGE + "<!-- figure: double -->2<!-- end -->", result)


def test_targets_that_are_all_met_need_no_place_and_others_do(result):
    without = PAGE.replace("<!-- targets -->\n<!-- end -->", "")
    met = replace(result, targets=result.targets[:1])

    assert "target" not in rendered(without, met)
    with pytest.raises(ValueError, match="0 places for 'targets'"):
        rendered(without, result)


def test_pages_and_plots_are_written(result, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "FOLDER", tmp_path)
    (tmp_path / "ways.md").write_text(PAGE)

    written = write(["ways"])

    assert [path.name for path in written] == ["ways.md", "ways-dollars.svg"]
    assert drawn(tmp_path / "ways-dollars.svg") == digest(result.plots["dollars"])
