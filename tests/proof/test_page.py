"""Results are kept by section, and docs/proof.md shows the last one of each."""

from __future__ import annotations

import pytest

from tests.proof import page, results
from tests.proof.results import SECTIONS

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


def test_the_page_has_a_place_for_each_section():
    text = page.PAGE.read_text()

    assert [text.count(f"<!-- result: {section} -->") for section in SECTIONS] == [1] * len(SECTIONS)
    assert text.count("<!-- end -->") == len(SECTIONS)
