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
from pipeline.shared_by_jobs import datasets


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
