"""The pages of docs/performance show the results that are kept in lab/results."""

from __future__ import annotations

import pytest

from lab.pages.page import FIGURE, FOLDER, picture, rendered
from lab.pages.plots import digest, drawn
from lab.pages.results import kept, names


@pytest.mark.parametrize("name", names())
def test_a_page_is_that_of_its_result(name):
    found = kept(name)
    text = (FOLDER / f"{name}.md").read_text()

    assert rendered(text, found) == text
    assert "No result is kept yet." not in text
    assert {picture(found, each): drawn(picture(found, each)) for each in found.plots} == {
        picture(found, each): digest(plot) for each, plot in found.plots.items()
    }


def test_a_page_without_a_result_says_so_and_quotes_no_figure():
    pages = [path for path in FOLDER.glob("*.md") if path.stem != "index"]
    without_results = {path.stem: path.read_text() for path in pages if path.stem not in names()}

    assert {path.stem for path in pages} >= set(names())
    for name, text in without_results.items():
        assert "No result is kept yet." in text, name
        assert FIGURE.search(text) is None, name
