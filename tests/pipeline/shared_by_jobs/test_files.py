"""Files are dealt to tasks by their sizes, in a time that grows with their number alone."""

from __future__ import annotations

import gc
import time

from pipeline.engine_without_spark.listing import listed
from pipeline.shared_by_jobs.files import BYTES_A_TASK, ListedFile, shares


def test_tasks_have_about_the_same_bytes_and_every_file_once():
    files = [ListedFile(f"f{number:02}", size) for number, size in enumerate([9, 1, 1, 1, 6, 2, 2, 2])]

    assert shares(files, 2) == [["f00", "f07", "f02"], ["f04", "f05", "f06", "f01", "f03"]]
    assert shares(files[:1], 4) == [["f00"]]
    assert len(shares([ListedFile(f"f{number}", BYTES_A_TASK) for number in range(9)], 2)) == 9


def test_a_task_of_many_small_files_is_dealt_in_linear_time():
    few, many = (min(_seconds_to_deal(count) for _ in range(3)) for count in (10_000, 80_000))

    assert many < 32 * few  # of copies of all files dealt so far: 64


def _seconds_to_deal(count):
    files = [ListedFile(f"f{number}", 10) for number in range(count)]
    gc.disable()  # a collection of other tests' objects takes longer
    started = time.process_time()
    shares(files, 1)
    seconds = time.process_time() - started
    gc.enable()
    return seconds


def test_a_folder_may_have_a_colon_and_spaces_in_its_name(tmp_path):
    folder = tmp_path / "first, last: 64"
    folder.mkdir()
    (folder / "acks.csv").write_text("item_id")

    for path in (str(folder), f"file:{folder}", f"{folder}/*.csv"):
        assert [file.path for file in listed([path])] == [f"file:{folder}/acks.csv"]
