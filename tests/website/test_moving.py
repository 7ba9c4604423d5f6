"""The moving picture of the README shows what the program prints now, and needs nothing from elsewhere."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from website.moving import HELD, PICTURE, drawn, recorded


@pytest.fixture(scope="module")
def frames():
    return recorded()


def test_the_picture_is_what_the_program_prints(frames):
    assert PICTURE.read_text() == drawn(frames), "run: make watch-picture"


def test_the_batch_of_the_picture_ends_once_in_spite_of_duplicates(frames):
    assert [frame.acks.endswith("events: 1") for frame in frames] == [False] * (len(frames) - 1) + [True]
    assert " 0 of them duplicates" not in frames[0].acks
    assert len({frame.watch for frame in frames}) == len(frames) > HELD


def test_the_picture_is_small_and_holds_no_script():
    tags = {element.tag.rpartition("}")[2] for element in ElementTree.fromstring(PICTURE.read_text()).iter()}  # noqa: S314

    assert tags == {"svg", "title", "style", "rect", "text", "path", "g"}
    assert PICTURE.stat().st_size < 60_000
    for feature in ("prefers-reduced-motion", "prefers-color-scheme"):
        assert feature in PICTURE.read_text()
