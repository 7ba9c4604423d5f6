"""Results are kept by section, and docs/proof.md shows the last one of each."""

from __future__ import annotations

import pytest

from tests.proof import page, results
from tests.proof.results import SECTIONS, keep

PAGE = """# Proof

<!-- result: crashes -->
<!-- end -->

<!-- result: soak -->

as it was

<!-- end -->
"""


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")


def keep_crashes(rows=(("lead_tasks", "12"), ("sweep", "30"))):
    keep("crashes", "make crashes", ["handler", "kills"], rows, "Each is redelivered.")


@pytest.mark.parametrize(("section", "row"), [("crash", ["a", "1"]), ("crashes", ["a"])])
def test_a_result_without_a_section_or_with_a_crooked_row_is_refused(section, row):
    with pytest.raises(ValueError, match=r"section|columns"):
        keep(section, "make crashes", ["handler", "kills"], [row])
    assert not results.RESULTS.exists()


def test_the_page_shows_what_was_kept_and_keeps_the_rest():
    keep_crashes()

    written = page.rendered(PAGE)

    assert "| handler | kills |\n| --- | --- |\n| lead_tasks | 12 |\n| sweep | 30 |\n" in written
    assert "Each is redelivered.\n\n`make crashes`, 20" in written
    assert "as it was" in written
    assert page.rendered(written) == written


def test_the_page_has_a_place_for_each_section():
    text = page.PAGE.read_text()

    assert [text.count(f"<!-- result: {section} -->") for section in SECTIONS] == [1] * len(SECTIONS)
    assert text.count("<!-- end -->") == len(SECTIONS)
