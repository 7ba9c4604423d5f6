from __future__ import annotations

import pytest

from examples.catalog import options
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
