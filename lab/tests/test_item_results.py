"""The measurements of results: each result is gathered once, and a fiftieth of them counts as the whole."""

from __future__ import annotations

from lab.cost.results import Counting
from lab.requests.results import Ended


def test_a_gathering_over_files_reads_each_part_once_and_a_reader_one_file(tmp_path):
    found = Ended(tmp_path, 300, 10).measured()

    assert (found.files, found.reading_gets) == (1, 1)
    assert 30 <= found.gets < 40


def test_acks_write_an_object_each_and_the_gathering_reads_them_all():
    kept = Counting(50_000, 20).count(gigabytes=1.0)

    assert kept.written.units == {"object_write": 2_500}
    assert 2_500 <= kept.gathered.units["object_read"] < 2_700
