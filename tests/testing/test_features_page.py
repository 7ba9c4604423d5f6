"""docs/features.md: its first examples run in memory; others on a local run, and with Spark."""

from __future__ import annotations

from collections.abc import Iterator

from tests.pages import ROOT, Block, PageRun, blocks_of

BLOCKS = [block for block in blocks_of(ROOT / "docs" / "features.md") if block.is_run]
ON_A_RUN = ("Call a batch API", "Work outside Lambda")
WITH_SPARK = ("Fan out and ack with Spark",)
LINES = 20


def of(*sections: str) -> Iterator[Block]:
    """The blocks of *sections*, in the order of the page."""
    return (block for block in BLOCKS if block.section in sections)


def test_the_examples_in_memory_print_what_the_page_shows(tmp_path):
    in_memory = {block.section for block in BLOCKS} - {*ON_A_RUN, *WITH_SPARK}

    with PageRun(tmp_path) as page:
        for block in of(*in_memory):
            page.block(block)

    assert len(in_memory) >= 5


def test_each_example_is_short_and_shows_what_it_prints():
    for section in {block.section for block in BLOCKS}:
        *code, shown = of(section)

        assert max(block.code.count("\n") for block in code) < LINES
        assert shown.note == "prints" or section in WITH_SPARK
