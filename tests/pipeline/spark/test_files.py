"""Files are dealt to tasks of about the same size."""

from __future__ import annotations

import pytest

from pipeline.spark import files
from pipeline.spark.files import ListedFile


@pytest.mark.parametrize(
    ("count", "size", "slots"), [(1, 5, 4), (3, 5, 8), (100, 10, 8), (10, files.BYTES_A_TASK, 2)]
)
def test_logs_are_dealt_whole_and_evenly(count, size, slots):
    logs = [ListedFile(f"{number:03d}", size) for number in range(count)]

    dealt = files.shares(logs, slots)

    assert sorted(path for paths in dealt for path in paths) == [log.path for log in logs]
    assert len(dealt) == min(count, max(slots, count * size // files.BYTES_A_TASK))
    assert max(map(len, dealt)) - min(map(len, dealt)) <= 1


def test_the_largest_log_has_a_task_to_itself():
    logs = [
        ListedFile("small", 1),
        ListedFile("large", 1000),
        ListedFile("middle", 3),
        ListedFile("little", 2),
    ]

    assert sorted(map(sorted, files.shares(logs, 2))) == [["large"], ["little", "middle", "small"]]
