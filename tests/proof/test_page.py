"""Results are kept by section, and docs/proof.md shows the last one of each."""

from __future__ import annotations

from tests.proof.page import PAGE
from tests.proof.results import SECTIONS


def test_the_page_has_a_place_for_each_section():
    text = PAGE.read_text()

    assert [text.count(f"<!-- result: {section} -->") for section in SECTIONS] == [1] * len(SECTIONS)
    assert text.count("<!-- end -->") == len(SECTIONS)
