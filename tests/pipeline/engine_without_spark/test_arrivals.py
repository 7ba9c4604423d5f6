"""Each file of a folder is taken once, as it arrives; again if a crash came before it was."""

from __future__ import annotations

from pipeline.engine_without_spark.arrivals import Arrivals
from pipeline.shared_by_jobs.files import ListedFile

A, B, C = (ListedFile(f"file:/logs/{name}.csv", 7) for name in "abc")


def test_a_file_is_taken_once_and_again_with_the_same_run_if_a_crash_came_before(tmp_path):
    path = str(tmp_path / "not there" / "checkpoint")
    arrivals, run = Arrivals(path), []
    assert [batch.files for batch in arrivals.take(lambda: [A])] == [[A]]
    assert [batch.files for batch in arrivals.take(lambda: [A, B])] == [[B]]
    assert list(arrivals.take(lambda: [B, A])) == []

    for batch in Arrivals(path).take(lambda: [A, B, C]):
        run.append(batch)
        break  # the process ends before it is taken
    again = list(Arrivals(path).take(lambda: [A, B, C]))

    assert [batch.files for batch in run] == [[C]]
    assert again == run
    assert list(Arrivals(path).take(lambda: [A, B, C])) == []
