"""The demo before it starts: its options, what it promises, and a manifest that its job finds."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from examples.catalog import options, stages
from examples.catalog.errors import DemoError
from examples.catalog.output.live import View
from examples.catalog.system import spark
from pipeline.jobs import fan_out
from pipeline.spark import datasets


def test_the_default_is_twenty_pages_of_the_catalog_with_chaos():
    given = options.parse([])

    assert (given.dataset, given.items, given.chaos) == (datasets.CATALOG, 20_480, True)
    assert (given.fail_percent, given.duplicate_percent, given.lose_every) == (3, 3.0, 10)
    assert given.bundled == {"games", "science", "sound", "x11"}
    assert given.queued == {"editors", "mail"}


OWN = f"--dataset {datasets.CATALOG_SLICE}"


@pytest.mark.parametrize(
    ("argv", "items"), [("--items 7", 7), ("--whole", None), (OWN, None), (f"{OWN} --items 7", 7)]
)
def test_a_dataset_of_ones_own_is_taken_whole_unless_limited(argv, items):
    assert options.parse(argv.split()).items == items


def test_without_chaos_nothing_fails_and_nothing_is_sent_twice():
    given = options.parse(["--no-chaos"])

    assert (given.fail_percent, given.duplicate_percent, given.lose_every) == (0, 0.0, 0)


@pytest.mark.parametrize(
    ("text", "sections"), [("", set()), ("perl", {"perl"}), ("gnu-r,perl", {"gnu-r", "perl"})]
)
def test_the_sections_to_bundle_and_to_queue_are_named_with_commas(text, sections):
    assert options.parse(["--bundled", text]).bundled == sections
    assert options.parse(["--queued", text]).queued == sections


@pytest.mark.parametrize(
    ("argv", "reported"),
    [
        (["--items", "0"], "--items is 0"),
        (["--items", "many"], "--items"),
        (["--bundled", "perl,non free"], "--bundled non free"),
        (["--queued", "no,perl!"], "--queued perl!"),
        (["--queued", "games"], "--queued games: the packages of this section are bundled"),
        (["--items", "7", "--whole"], "--whole"),
        (["--dataset", "nowhere.jsonl"], "--dataset nowhere.jsonl: there is no such file"),
    ],
)
def test_what_cannot_be_is_refused_with_its_name(argv, reported, capsys):
    with pytest.raises(SystemExit) as refused:
        options.parse(argv)

    assert refused.value.code == 2
    assert reported in capsys.readouterr().err


def reported(*argv: str) -> tuple[int, str]:
    """How many items are promised with *argv*, and what is said on the way."""
    written = io.StringIO()
    expected = stages.promised(options.parse(argv), View(Console(file=written)))
    return expected.items, written.getvalue()


def test_more_items_than_the_dataset_has_are_named_at_once():
    items, printed = reported("--dataset", str(datasets.CATALOG_SLICE), "--items", "5000")

    assert items == 992
    assert "--items 5,000 is more than there are: all 992 packages are taken" in printed
    assert reported("--dataset", str(datasets.CATALOG_SLICE), "--items", "992") == (992, "")


def test_a_dataset_without_packages_is_refused(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()

    with pytest.raises(DemoError, match="holds no package"):
        reported("--dataset", str(empty))


RUN = SimpleNamespace(
    url="http://127.0.0.1:1", endpoint="http://127.0.0.1:2", outputs={"DemoQueueUrl": "http://127.0.0.1:2/q"}
)


@pytest.mark.parametrize("argv", [["--items", "300"], ["--whole"]])
def test_the_job_finds_the_manifest_that_was_written_before_its_arguments_were_known(argv, tmp_path):
    given = options.parse(argv)
    prepared = stages.manifest_of(given, str(tmp_path))

    before = spark.request_of(prepared)
    job = fan_out._request(fan_out.arguments().parse_args([*prepared, *stages.arguments(given, RUN)]))

    assert (before.manifest, before.source, before.limit) == (job.manifest, job.source, job.limit)
    assert (before.dataset, before.user_key) == (job.dataset, job.user_key)
