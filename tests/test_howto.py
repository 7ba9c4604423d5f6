"""What no run of the how-to pages checks: the command lines of Spark, Celery's programs, JSON, and claims."""

from __future__ import annotations

import ast
import importlib
import json
import re
import shlex
from pathlib import Path

import pytest

from fanin.testing import FakeFanin
from tests.pages import Block, blocks_of, commands_of

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "howto"
PAGES = sorted(FOLDER.glob("*.md"))


def unrun(language: str) -> list[Block]:
    return [
        block
        for page in PAGES
        for block in blocks_of(page)
        if block.language == language and not block.is_run
    ]


def commands() -> list[str]:
    lines = [line for block in unrun("console") for line, _ in commands_of(block.code)]
    return [line for line in lines if "pipeline.jobs." in line]


@pytest.mark.parametrize("command", commands(), ids=lambda command: command.split()[2])
def test_the_options_of_a_spark_job_are_its_options(command: str) -> None:
    _, _, module, *options = shlex.split(command.replace("\\\n", ""))
    job = importlib.import_module(module)

    job.arguments().parse_args(options)


@pytest.mark.parametrize("block", unrun("python"), ids=str)
def test_a_program_that_is_not_run_is_python(block: Block) -> None:
    ast.parse(block.code)


@pytest.mark.parametrize("block", unrun("json"), ids=str)
def test_a_json_block_is_json(block: Block) -> None:
    assert json.loads(block.code)


def test_each_page_says_what_it_is_for_and_what_goes_wrong() -> None:
    names = {page.name for page in PAGES}
    wanted = ("sqs_worker", "nested_batches", "dead_letter_queues", "spark_nightly")
    moves = ("from_a_counter", "from_celery_chords", "from_distributed_map")

    assert {f"{name}.md" for name in wanted + moves} <= names
    for page in PAGES:
        assert "## Pitfalls" in page.read_text() or page.stem == "from_a_counter", page
    for name in moves:
        text = (FOLDER / f"{name}.md").read_text()
        headings = ("## Before", "## After", "## What is lost", "## Switch")
        assert all(heading in text for heading in headings), name


def test_a_failed_page_fails_its_chapter_and_an_empty_child_is_done() -> None:
    """nested_batches.md"""
    fake = FakeFanin()
    with fake.open() as book:
        chapters = book.add(3)
    with fake.open(parent=chapters[0], parent_fails_on="any") as pages:
        fake.fail(pages.add(1), "no ink")
    with fake.open(parent=chapters[1]):
        pass
    with fake.open(parent=chapters[2]) as last_chapter:
        last_pages = last_chapter.add(1)
    book.cancel()
    fake.ack(last_pages)

    assert pages.status().result == "completed_with_failures"
    assert (book.status().acked, book.status().failed) == (2, 1)
    assert last_chapter.status().result == "succeeded"


def test_each_command_that_a_page_names_is_in_the_reference() -> None:
    reference = (FOLDER.parent / "cli.md").read_text()
    named = {name for page in PAGES for name in re.findall(r"`fanin ((?:local )?\w+)", page.read_text())}

    assert named
    assert {name for name in named if f"### `fanin {name}" not in reference} == set()
