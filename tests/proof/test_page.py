"""Results are kept by section, and docs/proof.md shows the last one of each."""

from __future__ import annotations

import pytest

from tests.proof.page import PAGE, figures, placed
from tests.proof.results import SECTIONS, Result


def test_the_page_has_a_row_for_each_section():
    text = PAGE.read_text()

    for section in SECTIONS:
        assert f"| {section} | " in text
        assert "| 0 faults | `make it` |" in placed(text, section, "0 faults | `make it`")


def test_a_section_without_a_row_is_refused():
    with pytest.raises(ValueError, match="0 rows of 'soak'"):
        placed("| faults | a proxy | 1 | `make faults` |", "soak", "2 | `make soak`")


@pytest.mark.parametrize(
    ("columns", "rows", "shown"),
    [
        (("what", "runs", "time"), (("a", "1,999", "1 s"), ("b", "1", "2 s")), "2,000 runs"),
        (("suite", "cases", "expressions"), (("a", "2", ""), ("b", "", "252")), "2 cases"),
        (("handler", "kills"), (("48 handlers", "1,135"),), "48 handlers: 1,135 kills"),
        (("what", "looked at", "found"), (("a", "7", "x"), ("b", "8", "nothing")), "15 looked at"),
        (("case", "then", "verdict"), (("T1", "", "30 pass"), ("T2", "", "30 pass")), "30 pass"),
    ],
)
def test_a_result_is_shown_by_its_sums_or_by_what_differs_in_its_rows(columns, rows, shown):
    assert figures(Result("soak", "make soak", columns, rows, "", "", "")) == shown
