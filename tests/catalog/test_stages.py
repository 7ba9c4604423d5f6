from __future__ import annotations

import io

import pytest
from rich.console import Console

from examples.catalog import options, stages
from examples.catalog.errors import DemoError
from examples.catalog.output.live import View
from pipeline.spark import datasets


def reported(*argv: str) -> tuple[int, str]:
    """How many items are promised with *argv*, and what is said on the way."""
    written = io.StringIO()
    expected = stages.promised(options.parse(argv), View(Console(file=written)))
    return expected.items, written.getvalue()


def test_more_items_than_the_dataset_has_are_named_at_once():
    items, said = reported("--dataset", str(datasets.CATALOG_SLICE), "--items", "5000")

    assert items == 992
    assert "--items 5,000 is more than there are: all 992 packages are taken" in said


def test_of_as_many_items_as_there_are_nothing_is_said():
    assert reported("--dataset", str(datasets.CATALOG_SLICE), "--items", "992") == (992, "")


def test_a_dataset_without_packages_is_refused(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()

    with pytest.raises(DemoError, match="holds no package"):
        reported("--dataset", str(empty))
